// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Testing

@testable import GateProviderHTTP

/// Which host responds, shown by real certificates.
@Suite struct HostProbeTests {
    private let server: LocalProvider
    private let transport: ProviderTransports

    init() throws {
        self.server = try LocalProvider.shared.get()
        self.transport = try .trusting([
            "id": self.server.ca, "stranger": self.server.otherCA, "lost": self.server.ca + ".txt",
        ])
    }

    private func origin(_ port: String) throws -> Origin { try #require(self.server.address(port, "/")).origin }

    @Test func `the chain comes leaf first and ends with the root that is trusted`() async throws {
        let chain = try await self.transport.transport(to: "id").chain(at: try self.origin("tls"))
        let openssl = try self.server.openssl()
        #expect(chain.map(\.subject) == ["CN=localhost,O=Acme\\C2\\9B\\, Inc", "CN=ca"])
        #expect(chain.map(\.issuer) == ["CN=ca", "CN=ca"])
        #expect(chain.first?.publicKeyPin?.description == openssl.pin)
        #expect(chain.first?.certificatePin?.description == openssl.certificatePin)
    }

    @Test func `a certificate has the time from which and until which it is valid`() async throws {
        let chain = try await self.transport.transport(to: "id").chain(at: try self.origin("tls"))
        let leaf = try #require(chain.first)
        let now = Int64(Date().timeIntervalSince1970)
        #expect(leaf.notAfter.since(leaf.notBefore) == .seconds(2 * 86_400))
        #expect(leaf.notBefore.seconds <= now && leaf.notBefore.seconds > now - 3600)
    }

    @Test func `the head of the response comes without its body, however long that is`() async throws {
        let probe = try await self.transport.transport(to: "id").probe(at: try self.origin("tls"))
        let response = try #require(probe.response)
        #expect(response.status == 200)
        #expect(response.header("date")?.isEmpty == false)
        #expect(response.body.isEmpty)
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
        #expect(try await self.transport.transport(to: "id").chain(at: address.origin).count == 2)
    }

    @Test func `plain http has no chain`() async throws {
        #expect(try await self.transport.transport(to: "id").chain(at: try self.origin("plain")).isEmpty)
    }

    @Test(arguments: [
        ("expired", "id", "has expired"), ("wrong_name", "id", "for another host name"),
        ("self_signed", "id", "signed by itself"), ("weak", "id", "too weak"),
        ("old_tls", "id", "no TLS newer than 1.1"), ("tls", "stranger", "unknown issuer"),
        ("tls", "lost", "tls.ca_file holds no certificate"), ("deep", "id", "more than 10 certificates"),
    ])
    func `a chain that is not trusted is not shown, and the failure names the reason`(
        port: String,
        provider: String,
        words: String,
    ) async throws {
        let origin = try self.origin(port)
        let failure = await #expect(throws: Failure.self) {
            try await self.transport.transport(to: provider).chain(at: origin)
        }
        #expect(failure?.reason == .providerTLS)
        #expect(failure?.detail.contains(words) == true, "\(failure?.detail ?? "")")
    }

    @Test func `https at a port without TLS is distinguished from a bad certificate`() async throws {
        let port = try self.origin("plain").port
        let origin = try #require(Origin(scheme: "https", host: "localhost", port: port))
        let failure = await #expect(throws: Failure.self) {
            try await self.transport.transport(to: "id").chain(at: origin)
        }
        #expect(failure?.detail.contains("does not speak TLS") == true, "\(failure?.detail ?? "")")
    }

    @Test func `a host over TLS without a chain is a failure, never a probe`() throws {
        let origin = try #require(Origin(scheme: "https", host: "id.example"))
        let failure = #expect(throws: Failure.self) {
            try CallResult(outcome: .completed, status: 200).probe(from: origin)
        }
        #expect(failure?.reason == .providerTLS)
    }

    @Test(arguments: TLSFailure.allCases)
    func `each TLS failure has a separate message`(tlsFailure: TLSFailure) {
        #expect(TLSFailure.allCases.count { $0.message == tlsFailure.message } == 1)
    }
}
