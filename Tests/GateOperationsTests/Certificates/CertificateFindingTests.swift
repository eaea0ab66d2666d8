// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateHTTP
@testable import GateOperations

@Suite struct CertificateFindingTests {
    private static let day: Int64 = 86_400
    private static let now = Instant(seconds: 1_900_000_000)

    /// A certificate that is good for a year, half of which is over.
    private static func certificate(
        from start: Int64 = -180,
        to end: Int64 = 185,
        names: Set<String> = ["gate.example.com", "*.apps.example.com"],
        key: ServerCertificate.Key = .ecdsa(bits: 256),
        hasWeakSignature: Bool = false,
        isForServers: Bool = true
    ) -> ServerCertificate {
        ServerCertificate(
            notBefore: Instant(seconds: now.seconds + start * day),
            notAfter: Instant(seconds: now.seconds + end * day),
            names: names,
            addresses: [],
            key: key,
            hasWeakSignature: hasWeakSignature,
            isForServers: isForServers
        )
    }

    private static func findings(
        _ certificate: ServerCertificate,
        serving hosts: [String] = ["gate.example.com"]
    ) -> [CertificateFinding] {
        let listener = ListenerCertificates(address: "0.0.0.0:443", certificates: [("gate.pem", certificate)])
        return CertificateFinding.all(of: listener, serving: hosts, at: now)
    }

    /// The findings on a revocation list with these days of life, counted from now.
    private static func ofList(from start: Int64, to end: Int64?) -> [CertificateFinding] {
        let list = CertificateAuthority.Entry(
            name: "CN=devices",
            from: Instant(seconds: now.seconds + start * day),
            until: end.map { Instant(seconds: now.seconds + $0 * day) },
            isSigned: true
        )
        let listener = ListenerCertificates(address: "0.0.0.0:443", certificates: [], revocationLists: [list])
        return CertificateFinding.all(of: listener, serving: ["gate.example.com"], at: now)
    }

    @Test(
        arguments: [
            (-1, 30, nil), (-30, 3, nil), (-30, 2, .listExpiring), (-6, 2, nil), (-7, 2, .listExpiring), (-1, nil, nil),
            (-30, 0, .listExpired), (-30, -1, .listExpired),
        ] as [(Int64, Int64?, CertificateFinding.Name?)]
    )
    func `a revocation list is late with a quarter of its life left, at most three days`(
        start: Int64,
        end: Int64?,
        name: CertificateFinding.Name?
    ) {
        let found = Self.ofList(from: start, to: end)
        #expect(found.map(\.name) == [name].compactMap(\.self))
        #expect(found.allSatisfy { !$0.isFatal && $0.severity == (name == .listExpired ? .critical : .warning) })
    }

    @Test func `Z-01: a good certificate for all hosts leads to nothing`() {
        #expect(Self.findings(Self.certificate(), serving: ["gate.example.com", "wiki.apps.example.com"]).isEmpty)
    }

    @Test func `Z-01: an expired certificate is critical, and so is one of the future`() {
        let expired = Self.findings(Self.certificate(to: -1))
        #expect(expired.map(\.name) == [.expired] && expired.map(\.severity) == [.critical])
        let help = "so clients reject it; renew it; the file is read again when it changes"
        #expect(expired.map(\.text) == ["listener 0.0.0.0:443: gate.pem expired on 2030-03-16, \(help)"])
        #expect(Self.findings(Self.certificate(to: 0)).map(\.name) == [.expired])
        let early = Self.findings(Self.certificate(from: 1))
        #expect(early.map(\.name) == [.notYetValid] && early.map(\.severity) == [.critical])
        #expect(expired.allSatisfy(\.isFatal) && early.allSatisfy(\.isFatal))
    }

    @Test(arguments: [
        (31, nil), (30, SecurityEvent.Severity.notice), (14, .warning), (3, .critical),
    ])
    func `Z-01: the nearer the end of validity, the more urgent`(days: Int, severity: SecurityEvent.Severity?) {
        let found = Self.findings(Self.certificate(to: Int64(days)))
        #expect(found.first?.severity == severity)
        #expect(found.allSatisfy { $0.name == .expiring && !$0.isFatal })
    }

    @Test func `Z-01: of a short life a third has to be over`() {
        #expect(Self.findings(Self.certificate(from: -3, to: 3)).isEmpty)
        #expect(Self.findings(Self.certificate(from: -5, to: 2)).map(\.name) == [.expiring])
    }

    @Test func `Z-01: each host that the listener serves needs a certificate`() {
        let hosts = ["gate.example.com", "wiki.apps.example.com", "wiki.example.com", "example.com"]
        let found = Self.findings(Self.certificate(), serving: hosts)
        #expect(found.map(\.name) == [.wrongHost] && found.map(\.severity) == [.warning])
        #expect(found.first?.detail.hasPrefix("no certificate is for wiki.example.com, example.com, so") == true)
        let other = ("wiki.pem", Self.certificate(names: ["wiki.example.com", "example.com"]))
        let both = ListenerCertificates(
            address: "0.0.0.0:443",
            certificates: [("gate.pem", Self.certificate()), other]
        )
        #expect(CertificateFinding.all(of: both, serving: hosts, at: Self.now).isEmpty)
    }

    @Test func `Z-01: weak keys and signatures and a wrong purpose are warnings`() {
        #expect(Self.findings(Self.certificate(key: .rsa(bits: 1024))).map(\.name) == [.weak])
        #expect(Self.findings(Self.certificate(key: .rsa(bits: 2048))).isEmpty)
        #expect(Self.findings(Self.certificate(key: .other)).map(\.name) == [.weak])
        #expect(Self.findings(Self.certificate(hasWeakSignature: true)).map(\.name) == [.weak])
        #expect(Self.findings(Self.certificate(isForServers: false)).map(\.name) == [.wrongPurpose])
    }

    @Test func `Z-01: a plain listener has no findings`() {
        let plain = ListenerCertificates(address: "127.0.0.1:8080", certificates: [])
        #expect(CertificateFinding.all(of: plain, serving: ["gate.example.com"], at: Self.now).isEmpty)
    }
}
