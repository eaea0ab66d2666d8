// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Testing

@testable import GateDiagnostics

@Suite struct ProviderFindingTableTests {
    @Test func `columns are as wide as their widest word in any line`() {
        let rows = ProviderFinding.rows(of: [
            ProviderFinding("staff", .discovery, .good, "one"),
            ProviderFinding("x", .clientAuthentication, .failure, "two"),
        ])
        #expect(rows == ["staff  discovery    ok    one", "x      client_auth  FAIL  two"])
    }

    @Test func `received text can neither begin a line nor steer the terminal`() throws {
        let text = "a\nb\u{1B}[2J\u{9B}2J\u{202E}\u{2028}é" + String(repeating: "z", count: 10_000)
        let row = try #require(ProviderFinding.rows(of: [ProviderFinding("x", .tls, .good, text)]).first)
        #expect(row.hasPrefix("x  tls          ok    a\\nb\\u{1B}[2J\\u{009B}2J\\u{202E}\\u{2028}é"))
        #expect(row.unicodeScalars.count < 700)
        #expect(row.hasSuffix("..."))
    }

    @Test func `the summary counts failures and warnings`() {
        let lines = [ProviderFinding.Verdict.good, .failure, .warning, .warning, .unasked].map { verdict in
            ProviderFinding("x", .tls, verdict, "")
        }
        #expect(ProviderFinding.summary(of: lines) == "1 failure, 2 warnings")
        #expect(ProviderFinding.summary(of: []) == "no failures, no warnings")
    }
}

@Suite struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
            ("Tue, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ] as [(String, Int64)]
    )
    func `a date is read to the second`(text: String, seconds: Int64) {
        #expect(Instant(httpDate: text) == Instant(seconds: seconds))
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:377GMT", "Sun, 06 Nov 1994 08:49   GMT",
    ])
    func `a date in another format is not guessed`(text: String) {
        #expect(Instant(httpDate: text) == nil)
    }

    @Test func `the age of a cached response is added`() {
        let date = (name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        let cached = ProviderResponse(status: 200, headers: [date, (name: "Age", value: "3600")])
        #expect(cached.clock == Instant(seconds: 784_111_777 + 3600))
        let odd = ProviderResponse(status: 200, headers: [date, (name: "Age", value: "-1")])
        #expect(odd.clock == nil)
        #expect(ProviderResponse(status: 200).clock == nil)
    }
}

@Suite struct DiagnosticTransportTests {
    private func transport(_ stub: StubProvider, left: Duration) -> DiagnosticTransport {
        DiagnosticTransport(stub, clock: .fixed(StubProvider.now), deadline: .now + left, maxDuration: .seconds(4))
    }

    private func ask(_ transport: DiagnosticTransport) async throws {
        let request = ProviderRequest(
            method: "GET",
            address: try #require(WebURL("https://id.example.com/x")),
            headers: [],
            body: nil,
            limit: 1,
            timeout: .seconds(10),
        )
        _ = try await transport.response(to: request, provider: "staff")
    }

    @Test func `a call gets what is left of the time and never more than its share`() async throws {
        let stub = StubProvider([:])
        try await self.ask(self.transport(stub, left: .seconds(100)))
        try await self.ask(self.transport(stub, left: .seconds(2)))
        #expect(stub.requests.map(\.timeout).first == .seconds(4))
        #expect(stub.requests.last.map { $0.timeout <= .seconds(2) } == true)
    }

    @Test func `after the deadline no provider is called`() async throws {
        let stub = StubProvider([:])
        let failure = await #expect(throws: Failure.self) { try await self.ask(self.transport(stub, left: .zero)) }
        #expect(failure?.reason == .providerTimeout)
        #expect(stub.requests.isEmpty)
    }

    @Test func `the clock of each response with a date is noted`() async throws {
        let date = (name: "Date", value: "Fri, 15 Jan 2027 08:00:45 GMT")
        let stub = StubProvider(["/x": ProviderResponse(status: 404, headers: [date])])
        let transport = self.transport(stub, left: .seconds(9))
        try await self.ask(transport)
        #expect(transport.clockDifferences == [.seconds(45)])
    }
}
