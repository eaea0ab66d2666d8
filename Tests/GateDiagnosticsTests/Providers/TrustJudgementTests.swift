// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import GateProviderHTTP
import GateProviders
import Testing

@testable import GateDiagnostics

@Suite struct TrustJudgementTests {
    private func provider(
        clock: [Duration] = [],
        hosts: [ProviderChecks.Host] = [],
    ) async throws -> ProviderChecks {
        let settings = ProviderSettings(id: "hub", type: .github, clientID: "me", clientSecret: Secret(text: "hush"))
        return try await StubProvider.checks(settings, over: StubProvider([:]), clockDifferences: clock, hosts: hosts)
    }

    private func certificate(_ subject: String, lifetime days: Int64, left: Int64) -> ProviderCertificate {
        ProviderCertificate(
            subject: subject,
            issuer: "CN=Root",
            notBefore: StubProvider.now.advanced(by: .seconds((left - days) * 86_400)),
            notAfter: StubProvider.now.advanced(by: .seconds(left * 86_400)),
        )
    }

    private func chain(_ certificates: [ProviderCertificate]) async throws -> ProviderFinding {
        let origin = try #require(Origin(scheme: "https", host: "id.example.com"))
        let probe = HostProbe(certificates: certificates, response: ProviderResponse(status: 404))
        let lines = try await self.provider(hosts: [(origin, .success(probe))]).lines
        return try #require(lines.last { $0.topic == .tls })
    }

    @Test(
        arguments: [
            ([0], .good), ([30], .good), ([-30], .good), ([31], .warning), ([-31], .warning), ([60], .warning),
            ([61], .failure), ([-61], .failure), ([-600], .failure), ([-600, 2], .good), ([], .unasked),
        ] as [([Int64], ProviderFinding.Verdict)]
    )
    func `a clock that differs by over 30 s is a warning, by over 60 s a failure`(
        seconds: [Int64],
        verdict: ProviderFinding.Verdict,
    ) async throws {
        let line = try await self.provider(clock: seconds.map { .seconds($0) }).clock
        #expect(line.verdict == verdict)
    }

    @Test func `the finding names the clock that is ahead`() async throws {
        #expect(try await self.provider(clock: [.seconds(600)]).clock.text.contains("600 s ahead of this machine's"))
        #expect(try await self.provider(clock: [.seconds(-45)]).clock.text.contains("45 s behind this machine's"))
    }

    @Test(
        arguments: [
            (90, 60, .good), (90, 15, .good), (90, 14, .good), (90, 13, .warning), (90, 0, .warning),
            (7, 6, .good), (7, 3, .good), (7, 2, .warning),
        ] as [(Int64, Int64, ProviderFinding.Verdict)]
    )
    func `less than 14 days are short, unless the certificate was made for less than that`(
        lifetime: Int64,
        left: Int64,
        verdict: ProviderFinding.Verdict,
    ) async throws {
        let root = self.certificate("CN=Root", lifetime: 3650, left: 2000)
        let line = try await self.chain([self.certificate("CN=id", lifetime: lifetime, left: left), root])
        #expect(line.verdict == verdict)
        #expect(line.text.contains("https://id.example.com: CN=id below CN=Root"))
        #expect(line.text.contains("\(left) days left"))
    }

    @Test func `the certificate of the chain that ends first decides`() async throws {
        let leaf = self.certificate("CN=id", lifetime: 90, left: 60)
        let line = try await self.chain([leaf, self.certificate("CN=Root", lifetime: 3650, left: 3)])
        #expect(line.verdict == .warning)
        #expect(line.text.contains("only 3 days left of CN=Root"))
    }

    @Test func `a host whose TLS is refused is a failure with the reason`() async throws {
        let origin = try #require(Origin(scheme: "https", host: "id.example.com"))
        let failure = Failure(.providerTLS, "https://id.example.com: expired")
        let line = try #require(try await self.provider(hosts: [(origin, .failure(failure))]).lines.last)
        #expect(line == ProviderFinding("hub", .tls, .failure, "https://id.example.com: expired"))
    }

    @Test func `plain http on this machine is reported as such`() async throws {
        #expect(try await self.chain([]).text.contains("plain http"))
    }
}
