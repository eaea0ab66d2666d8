// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Testing

@testable import GateProviderHTTP

/// Who answers, shown by real certificates.
@Suite struct GreetingTests {
    private let server: LocalProvider
    private let transport: CurlTransport

    init() throws {
        self.server = try LocalProvider.shared.get()
        let trust: [String: String?] = [
            "id": self.server.ca, "stranger": self.server.otherCA, "lost": self.server.ca + ".missing",
        ]
        self.transport = try CurlTransport(trust: trust)
    }

    private func origin(_ port: String) throws -> Origin { try #require(self.server.address(port, "/")).origin }

    @Test func `the chain comes leaf first and ends with the root that is trusted`() async throws {
        let chain = try await self.transport.chain(at: try self.origin("tls"), provider: "id")
        let openssl = try self.server.openssl()
        #expect(chain.map(\.subject) == ["CN=localhost,O=Acme\\C2\\9B\\, Inc", "CN=ca"])
        #expect(chain.map(\.issuer) == ["CN=ca", "CN=ca"])
        #expect(chain.first?.der == openssl.der)
        let pin = chain.first?.publicKeyHash.map { String(format: "%02x", $0) }.joined()
        #expect(pin == openssl.pin)
    }

    @Test func `a certificate says from when until when it is valid`() async throws {
        let chain = try await self.transport.chain(at: try self.origin("tls"), provider: "id")
        let leaf = try #require(chain.first)
        let now = Int64(Date().timeIntervalSince1970)
        #expect(leaf.notAfter.since(leaf.notBefore) == .seconds(2 * 86_400))
        #expect(leaf.notBefore.seconds <= now && leaf.notBefore.seconds > now - 3600)
    }

    @Test func `the head of the answer comes too, and the body is left unread however long it is`() async throws {
        let greeting = try await self.transport.greeting(at: try self.origin("tls"), provider: "id")
        #expect(greeting.answer.status == 200)
        #expect(greeting.answer.header("date")?.isEmpty == false)
        #expect(greeting.answer.body.isEmpty)
    }

    @Test func `the chain comes again over a connection that was kept`() async throws {
        let address = try #require(self.server.address("tls", "/echo"))
        let request = ProviderRequest(
            method: "GET",
            address: address,
            headers: [],
            body: nil,
            limit: 65_536,
            timeout: .seconds(10),
        )
        #expect(try await self.transport.response(to: request, provider: "id").status == 200)
        #expect(try await self.transport.chain(at: address.origin, provider: "id").count == 2)
    }

    @Test func `plain http has no chain`() async throws {
        #expect(try await self.transport.chain(at: try self.origin("plain"), provider: "id").isEmpty)
    }

    @Test(arguments: [
        ("expired", "id", "has expired"), ("wrong_name", "id", "for another host name"),
        ("self_signed", "id", "signed by itself"), ("weak", "id", "too weak"),
        ("old_tls", "id", "no TLS newer than 1.1"), ("tls", "stranger", "unknown issuer"),
        ("tls", "lost", "tls.ca_file cannot be read"), ("deep", "id", "more than 10 certificates"),
    ])
    func `a chain that is not believed is not shown, and the refusal says why`(
        port: String,
        provider: String,
        words: String,
    ) async throws {
        let origin = try self.origin(port)
        let failure = await #expect(throws: Failure.self) {
            try await self.transport.chain(at: origin, provider: provider)
        }
        #expect(failure?.code == "provider.tls")
        #expect(failure?.detail.contains(words) == true, "\(failure?.detail ?? "")")
    }

    @Test func `https at a port without TLS is told apart from a bad certificate`() async throws {
        let port = try self.origin("plain").port
        let origin = try #require(Origin(scheme: "https", host: "localhost", port: port))
        let failure = await #expect(throws: Failure.self) {
            try await self.transport.chain(at: origin, provider: "id")
        }
        #expect(failure?.detail.contains("does not speak TLS") == true, "\(failure?.detail ?? "")")
    }

    @Test func `a host over TLS without a chain is a failure, never a greeting`() throws {
        let origin = try #require(Origin(scheme: "https", host: "id.example"))
        let failure = #expect(throws: Failure.self) {
            try CallEnding(reason: .answered, status: 200).greeting(from: origin)
        }
        #expect(failure?.code == "provider.tls")
    }

    @Test(arguments: TLSFault.allCases)
    func `every fault has words of its own`(fault: TLSFault) {
        #expect(TLSFault.allCases.count { $0.words == fault.words } == 1)
    }
}
