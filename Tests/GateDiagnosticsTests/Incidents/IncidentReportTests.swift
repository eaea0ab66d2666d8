// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOperations
import GateTestSupport
import Testing

@testable import GateDiagnostics

@Suite struct IncidentReportTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private static let access =
        #"{"time":"2027-01-15T08:00:00.000Z","level":"info","stream":"access","message":"request","#
        + #""request":"r1","client":"192.0.2.1","host":"gate","method":"GET","path":"/kD3pZ0qLxV7w","status":502,"#
        + #""app":"wiki","user":"staff:ada","decision":"allowed","rule":31,"incident":"kD3pZ0qLxV7w"}"#
    private static let process = """
        2027-01-15T07:59:59Z info draining
        2027-01-15T08:00:00Z warning upstream failed app=wiki code=upstream.closed detail="wiki closed" request=r1
        2027-01-15T08:00:00Z warning refused code=upstream.closed detail="wiki closed" incident=kD3pZ0qLxV7w request=r1
        2027-01-15T08:00:01Z info refused code=route.none detail="kD3pZ0qLxV7w" incident=other request=r2
        """

    private func file(_ name: String, _ text: String) throws -> LogFileSearch.Source {
        let path = "\(self.folder.path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        return .file(path)
    }

    private func report(_ id: String, _ sources: [LogFileSearch.Source]) -> IncidentReport {
        var report = IncidentReport(about: id)
        report.add(LogFileSearch(for: id, in: sources))
        return report
    }

    @Test(arguments: ["kD3pZ0qLxV7w", "r1"])
    func `lines of several files and formats are one incident, with what to do`(id: String) throws {
        let sources = [try self.file("access.log", Self.access), try self.file("process.log", Self.process)]
        let found = try #require(self.report(id, sources).json["incidents"]?.array)
        try #require(found.count == 1)
        #expect(found[0]["incident"] == "kD3pZ0qLxV7w" && found[0]["client"] == "192.0.2.1")
        #expect(found[0]["detail"] == "wiki closed" && found[0]["rule"] == "31")
        #expect(found[0]["sources"]?.array?.count == 3)
        #expect(found[0]["meaning"]?.string == Failure.Reason.upstreamClosed.documentation)
        #expect(found[0]["documents"]?.array?.last == "docs/alerts.md, section GatehouseUpstreamFailing")
    }

    @Test func `an id counts only as that of an incident or of a request, not in any other value`() throws {
        let report = self.report("wiki", [try self.file("process.log", Self.process)])
        #expect(!report.isFound && report.text.hasPrefix("Nothing is known of wiki."))
    }

    @Test func `what cannot be searched is named, with what to do`() throws {
        let path = "\(self.folder.path)/a.log.gz"
        try Data([0x1F, 0x8B, 8, 0]).write(to: URL(filePath: path))
        let text = self.report("kD3pZ0qLxV7w", [.file(path), .file("/nowhere/a.log"), .file(self.folder.path)]).text
        #expect(text.contains("it is compressed") && text.contains("zcat FILE |"))
        #expect(text.contains("/nowhere/a.log: ") && text.contains("\(self.folder.path): "))
    }

    @Test func `what the gateway knows counts more than the log`() throws {
        var report = self.report("kD3pZ0qLxV7w", [try self.file("process.log", Self.process)])
        report.add(
            gateway: [
                "incidents": [
                    [
                        "incident": "kD3pZ0qLxV7w", "request": "r1", "time": 1_800_000_000, "code": "upstream.closed",
                        "method": "GET", "path": "/of-the-gateway", "detail": "from \u{1B}[2J memory",
                    ]
                ],
                "kept": 1, "complete_since": 1_799_000_000, "loaded_at": 1_799_000_000,
            ],
            at: "/run/a.sock"
        )
        #expect(report.text.contains("/of-the-gateway") && report.text.contains("memory"))
        #expect(report.json["incidents"]?.array?.count == 1)
        #expect(report.text.split(separator: "\n").allSatisfy { PrintableText.isPrintable($0) })
    }

    @Test func `a flood of lines is bounded`() throws {
        let line = "2027-01-15T08:00:00Z info refused code=route.none incident=kD3pZ0qLxV7w request=r1\n"
        let many = try self.file("flood.log", String(repeating: line, count: 5000))
        let search = LogFileSearch(for: "kD3pZ0qLxV7w", in: [many])
        #expect(search.found.count == LogFileSearch.maxLines && search.hasMore)
    }

    @Test(
        arguments: [
            (.policyRefused, "'allow'"), (.policyDenied, "'deny'"), (.requestCrossSite, "'origins'"),
            (.routeBodyTooLarge, "'max_body'"), (.requestBodyTooLarge, "endpoint"), (.routeNone, "'host' and 'path'"),
            (.openIDClientRefused, "client_secret in providers.NAME"), (.providerTimeout, "check --online"),
        ] as [(Failure.Reason, String)]
    )
    func `the advice is about that failure, not only about its kind`(reason: Failure.Reason, words: String) {
        let advice = IncidentAdvice(on: reason, app: nil, provider: nil, configuration: nil)
        #expect(advice.steps.contains(words), "\(advice.steps)")
    }

    @Test(arguments: Failure.Reason.allCases)
    func `there is something to do about each failure, without a placeholder`(reason: Failure.Reason) {
        let advice = IncidentAdvice(on: reason, app: nil, provider: nil, configuration: nil)
        #expect(!advice.steps.isEmpty && !advice.steps.contains("{"))
        #expect(!advice.meaning.isEmpty && !advice.page.contains("{"))
    }
}
