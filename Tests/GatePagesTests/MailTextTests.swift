// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GatePages

@Suite struct MailTextTests {
    private static let values: [MailText.Variable: String] = [
        .organization: "Acme <&>", .link: "https://gate.example.com/oauth2/link/staff?token=a.b", .time: "one hour",
    ]

    @Test(arguments: MailText.allCases, PageLanguage.builtIn.map(\.tag))
    func `each message has its link and names the organization, and no variable is left`(
        text: MailText,
        tag: String
    ) throws {
        let language = try #require(PageLanguage.builtIn.first { $0.tag == tag })
        let message = text.message(in: language, Self.values)
        #expect(message.subject.contains("Acme <&>") && message.text.contains("Acme <&>"), "plain text has no escapes")
        let lines = message.text.split(separator: "\n")
        #expect(lines.contains { $0 == "https://gate.example.com/oauth2/link/staff?token=a.b" }, "on a line of its own")
        #expect(!message.subject.contains("{{") && !message.text.contains("{{"))
        #expect(lines.allSatisfy { $0.count <= 125 })
    }

    @Test func `each language of the pages has each message`() {
        for language in PageLanguage.builtIn {
            #expect(Set(MailText.texts[language.tag].map { Array($0.keys) } ?? []) == Set(MailText.allCases))
        }
    }

    @Test(
        arguments: [
            ("en", 3600, "one hour"), ("en", 86_400, "24 hours"), ("en", 7 * 86_400, "7 days"),
            ("de", 3600, "eine Stunde"),
            ("de", 30 * 86_400, "30 Tage"), ("fr", 7200, "2 heures"), ("es", 2 * 86_400, "2 días"),
            ("en", 600, "10 minutes"), ("de", 5400, "90 Minuten"),
        ] as [(String, Int64, String)]
    )
    func `the time of a link is in words`(tag: String, seconds: Int64, words: String) throws {
        let language = try #require(PageLanguage.builtIn.first { $0.tag == tag })
        #expect(MailText.words(for: .seconds(seconds), in: language) == words)
    }
}
