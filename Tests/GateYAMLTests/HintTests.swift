// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateYAML

@Suite struct HintTests {
    private static let names = ["type", "client_id", "client_secret", "scopes", "tenant", "hosted_domains"]

    @Test(
        arguments: [
            ("scops", "scopes"), ("scope", "scopes"), ("socpes", "scopes"), ("client-id", "client_id"),
            ("clientId", "client_id"), ("TYPE", "type"), ("tpye", "type"), ("hosted_domain", "hosted_domains"),
            ("client_secert", "client_secret"),
        ])
    func `a misspelled name leads to the name that was meant`(text: String, name: String) {
        #expect(Hint.nearest(to: text, in: Self.names) == name)
    }

    @Test(arguments: ["", "a", "xyz", "redirect_uri", "id", String(repeating: "scopes", count: 100)])
    func `what is far from every name gets no hint`(text: String) {
        #expect(Hint.nearest(to: text, in: Self.names) == nil)
    }

    @Test func `of equally near names the first wins`() {
        #expect(Hint.nearest(to: "cat", in: ["car", "can"]) == "car")
    }
}
