// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateOperations
import GateProviderHTTP
import GateProviders
import GateTestSupport
import Testing

@testable import GateDiagnostics

/// What to paste, read back as the file that it is pasted into.
@Suite struct PinSuggestionTests {
    private typealias Shown = (host: String, chain: [ProviderCertificate])

    private func root(_ name: String) throws -> KnownRoot {
        try #require(KnownRoot.all.first { $0.name == name })
    }

    /// A host whose chain ends at a root of the table.
    private func shown(_ host: String = PinFixture.host, below root: KnownRoot) throws -> Shown {
        (host, [try .stub(1, "CN=leaf"), try .stub(2, "CN=between"), .stub(root.pin, "CN=\(root.name)")])
    }

    /// A host whose chain has these keys, its own first.
    private func shown(_ host: String = PinFixture.host, _ keys: UInt8...) throws -> Shown {
        (host, try keys.map { try .stub($0, "CN=key \($0)") })
    }

    private func suggestion(_ shown: Shown...) throws -> String {
        try #require(PinSuggestion(shown)).text
    }

    /// The pins that a file has whose provider the suggestion was pasted below.
    private func pasted(_ suggestion: String) throws -> PinPolicy {
        let lines = suggestion.split(separator: "\n", omittingEmptySubsequences: false)
        let first = try #require(lines.firstIndex { $0.contains("tls:") })
        let file = """
            gateway:
              public_url: https://gate.example.com
            providers:
              staff:
                type: oidc
                issuer: https://id.example.com
                client_id: gatehouse
                client_secret: ${env:CLIENT_SECRET}
            \(lines[first...].joined(separator: "\n"))
            apps:
              wiki:
                upstream: http://127.0.0.1:9000
                allow: signed_in
            """
        let result = Configuration.parse(
            bytes: Array(file.utf8),
            name: "providers.yaml",
            folder: "/",
            environment: ["CLIENT_SECRET": "sample-secret"]
        )
        #expect(result.diagnostics.map(\.message) == [])
        return try #require(result.configuration?.providers.first?.pins)
    }

    /// The remark after a pin.
    private func remark(_ pin: Pin, in text: String) -> String? {
        text.split(separator: "\n").first { $0.contains("- \(pin)   # ") }?.split(separator: "# ").last.map(String.init)
    }

    @Test(arguments: KnownRoot.Family.allCases)
    func `of a known root the backup is another root of the same authority`(family: KnownRoot.Family) throws {
        for root in KnownRoot.all where root.family == family {
            let text = try self.suggestion(self.shown(below: root))
            let set = try self.pasted(text).standard
            #expect(set.match == .chain && set.mode == .report && set.pins.count == 2 && set.pins.first == root.pin)
            let backup = try #require(set.pins.last.flatMap { KnownRoot.named($0) })
            #expect(backup.family == family && backup != root)
            #expect(self.remark(root.pin, in: text) == "in use: CN=\(root.name)")
            #expect(self.remark(backup.pin, in: text) == "backup: \(backup.name), of the same authority")
        }
    }

    @Test func `a root that the host shows already is not suggested as a backup`() throws {
        let (root, shown) = (try self.root("ISRG Root X1"), try self.root("ISRG Root X2"))
        let chain = [try .stub(1), .stub(shown.pin, "CN=cross"), ProviderCertificate.stub(root.pin, "CN=root")]
        let text = try self.suggestion((PinFixture.host, chain))
        #expect(try self.pasted(text).standard.pins.first == root.pin)
        #expect(!text.contains("# backup"))
    }

    @Test func `with an unknown root the key below it is pinned too, with a note that a backup is missing`() throws {
        let text = try self.suggestion(self.shown(PinFixture.host, 1, 2, 3, 4))
        let set = try self.pasted(text).standard
        #expect(set.match == .chain && set.mode == .report)
        #expect(try set.pins == [.stub(4), .stub(3)])
        #expect(try self.remark(.stub(3), in: text)?.hasPrefix("in use too: CN=key 3") == true)
        #expect(text.split(separator: "\n").last?.contains("# add the pin of a key") == true)
    }

    @Test func `with a private authority without intermediates the root is pinned, with better advice`() throws {
        let text = try self.suggestion(self.shown(PinFixture.host, 1, 2))
        let set = try self.pasted(text).standard
        #expect(set.match == .chain)
        #expect(try set.pins == [.stub(2)])
        #expect(text.split(separator: "\n").last?.contains("# ca_file is better") == true)
    }

    @Test func `a lone certificate has its key pinned, with a note that a backup is missing`() throws {
        let text = try self.suggestion(self.shown(PinFixture.host, 1))
        let set = try self.pasted(text).standard
        #expect(set.match == .publicKey && set.mode == .report)
        #expect(try set.pins == [.stub(1)])
        #expect(text.split(separator: "\n").last?.contains("# add the pin of a key") == true)
        #expect(text.contains("allow_single_pin: true"))
    }

    @Test func `hosts that the same pins fit share them`() throws {
        let (root, backup) = (try self.root("ISRG Root X1"), try self.root("ISRG Root X2"))
        let text = try self.suggestion(
            self.shown("a.example.com", below: root),
            self.shown("b.example.com", below: root)
        )
        let policy = try self.pasted(text)
        #expect(policy.hosts.isEmpty && policy.standard.pins == [root.pin, backup.pin])
    }

    @Test func `hosts that other pins fit have their own, and each uses the first of them`() throws {
        let hosts = [
            try self.shown("a.example.com", below: self.root("GTS Root R1")),
            try self.shown("b.example.com", below: self.root("GTS Root R4")),
            try self.shown("c.example.com", 1, 2, 3), try self.shown("127.0.0.1", 4),
        ]
        let policy = try self.pasted(try #require(PinSuggestion(hosts)).text)
        #expect(policy.standard.pins.isEmpty && policy.hosts.count == hosts.count)
        for (host, chain) in hosts {
            let set = policy.set(for: host)
            #expect(set.mode == .report && PinnedHost(set: set, chain: chain).firstMatch?.pin == 0, "\(host)")
        }
        #expect(policy.set(for: "127.0.0.1").match == .publicKey)
    }

    @Test func `an address in brackets is written so that the file can be read`() throws {
        let policy = try self.pasted(self.suggestion(self.shown("[2001:db8::1]", 5), self.shown("b.example.com", 6)))
        #expect(try policy.set(for: "[2001:db8::1]").pins == [.stub(5)])
    }

    @Test func `a host that is met twice is listed once`() throws {
        let text = try self.suggestion(
            self.shown("a.example.com", 1),
            self.shown("b", 2),
            self.shown("a.example.com", 1)
        )
        #expect(try self.pasted(text).hosts.keys.sorted() == ["a.example.com", "b"])
    }

    @Test func `where nothing was shown there is nothing to pin`() {
        #expect(PinSuggestion([]) == nil && PinSuggestion([("a", []), ("b", [])]) == nil)
        #expect(PinSuggestion([("a", [.stub(nil, "CN=a")])]) == nil)
    }

    @Test func `what is printed ends with what to paste`() throws {
        let shown = try self.shown(below: self.root("ISRG Root X1"))
        let host = PinInspection.Host(origin: try PinFixture.origin(), set: nil, chain: .success(shown.chain))
        let text = PinInspection(hosts: [host]).text(now: PinFixture.start)
        #expect(text.hasSuffix("\n\n" + (try self.suggestion(shown))))
        #expect(text.contains("\n    tls:\n      pins:\n"))
    }
}
