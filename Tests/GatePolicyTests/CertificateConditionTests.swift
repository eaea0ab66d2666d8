// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

extension CertificateFacts {
    /// A certificate of this subject.
    static func of(
        _ subject: String,
        issuer: String = "CN=devices",
        names: [String] = [],
        fingerprint: String = String(repeating: "a", count: 64)
    ) -> CertificateFacts? {
        guard let subject = CertificateName(subject), let issuer = CertificateName(issuer) else { return nil }
        return CertificateFacts(subject: subject, issuer: issuer, names: names, fingerprint: fingerprint)
    }
}

/// Rules about certificates.
@Suite struct CertificateConditionTests {
    private static let any = CertificateCondition()

    private static func subject(_ text: String, isBase: Bool = false) throws -> CertificateCondition {
        var condition = CertificateCondition()
        condition.subjects = [.init(name: try #require(CertificateName(text)), isBase: isBase)]
        return condition
    }

    private static func name(_ text: String) throws -> CertificateCondition {
        var condition = CertificateCondition()
        condition.names = [try #require(CertificateCondition.AlternativeName(text))]
        return condition
    }

    @Test(arguments: [
        ("CN=a,O=x", false, "CN=a,O=x", true), ("cn=a, o = x", false, "CN=a,O=x", true),
        ("CN=A,O=x", false, "CN=a,O=x", false), ("CN=a", false, "CN=a,O=x", false), ("O=x", true, "CN=a,O=x", true),
        ("O=x", true, "O=x", false), ("O=x", true, "CN=a,O=x,C=DE", false), ("O=x", true, "CN=a\\,O=x", false),
        ("CN=a,O=x", true, "CN=b+OU=c,CN=a,O=x", true), ("OU=c+CN=b,O=x", false, "CN=b+OU=c,O=x", true),
    ])
    func `a subject is compared part by part`(asked: String, isBase: Bool, subject: String, isMet: Bool) throws {
        let condition = try Self.subject(asked, isBase: isBase)
        #expect(condition.matches(try #require(.of(subject))) == isMet)
    }

    @Test(arguments: [
        ("dns:a.example.com", "dns:a.example.com", true), ("dns:A.example.com", "dns:a.example.com", true),
        ("dns:*.example.com", "dns:a.example.com", true), ("dns:*.example.com", "dns:a.b.example.com", false),
        ("dns:*.example.com", "dns:.example.com", false), ("dns:*.example.com", "dns:example.com", false),
        ("dns:*.example.com", "uri:a.example.com", false), ("dns:*.example.com", "dns:a.badexample.com", false),
        ("uri:spiffe://x/*", "uri:spiffe://x/device/7", true), ("uri:spiffe://x/*", "uri:spiffe://x/", false),
        ("uri:spiffe://x/*", "uri:spiffe://xy/device", false), ("email:a@x", "email:A@x", false),
        ("ip:10.0.0.1", "ip:10.0.0.1", true), ("dns:10.0.0.1", "ip:10.0.0.1", false),
    ])
    func `an alternative name is compared with its kind`(asked: String, name: String, isMet: Bool) throws {
        #expect(try Self.name(asked).matches(try #require(.of("CN=a", names: ["dns:other", name]))) == isMet)
    }

    @Test(arguments: [
        "a.example.com", "dns:", "dns:*", "dns:a.*.example.com", "uri:*/x", "ip:x", "other:x", "dns:a b", "",
    ])
    func `an alternative name without a kind or with another wildcard is rejected`(text: String) {
        #expect(CertificateCondition.AlternativeName(text) == nil)
    }

    @Test func `all that is asked for has to be there`() throws {
        var condition = try Self.subject("CN=a")
        condition.fingerprints = [String(repeating: "a", count: 64)]
        #expect(condition.matches(try #require(.of("CN=a"))))
        #expect(!condition.matches(try #require(.of("CN=b"))))
        #expect(!condition.matches(try #require(.of("CN=a", fingerprint: String(repeating: "b", count: 64)))))
    }

    private static func decision(_ route: Route, _ certificate: CertificateFacts?) -> Decision {
        var facts = RequestFacts(method: "GET", client: nil, time: Instant(seconds: 0), authenticated: nil)
        facts.certificate = certificate
        return route.decision(for: facts, path: Array("/".utf8), profile: .ada)
    }

    @Test func `a certificate that is absent neither admits nor passes a deny`() throws {
        let wanted = try #require(CertificateFacts.of("CN=a"))
        let another = try #require(CertificateFacts.of("CN=b"))
        let entry = AccessEntry.with { $0.request = [.certificate(Self.any)] }
        let named = AccessEntry.with { entry in
            entry.request = (try? Self.subject("CN=a")).map { [.certificate($0)] } ?? []
        }
        var route = try Route.to(.entries([named]))
        #expect(Self.decision(route, wanted).isAdmission)
        #expect(Self.decision(route, another) == .denied(.notAllowed))
        #expect(Self.decision(route, nil) == .denied(.certificateNeeded(at: named.place)))
        route.access = .entries([.with { $0.nested = [.not(entry)] }])
        #expect(!Self.decision(route, nil).isAdmission && !Self.decision(route, wanted).isAdmission)
        route.access = .entries([.with { $0.nested = [.not(named)] }])
        #expect(!Self.decision(route, nil).isAdmission && Self.decision(route, another).isAdmission)
        route.access = .signedIn
        route.denied = [named]
        #expect(!Self.decision(route, nil).isAdmission && !Self.decision(route, wanted).isAdmission)
        #expect(Self.decision(route, another).isAdmission)
        route.denied = [.with { $0.nested = [.not(entry)] }]
        #expect(!Self.decision(route, nil).isAdmission && Self.decision(route, another).isAdmission)
    }

    @Test func `a condition includes another one only if it asks for no more`() throws {
        let (base, one) = (try Self.subject("O=x", isBase: true), try Self.subject("CN=a,O=x"))
        #expect(Self.any.includes(one) && base.includes(one) && one.includes(one))
        #expect(!one.includes(base) && !one.includes(Self.any) && !base.includes(Self.any))
    }
}
