// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore
internal import GatePolicy
internal import GateWire

// What an attacker would try who can reach an app without the gateway.
extension BypassProbe {
    /// The names from which apps behind gateways take a user, those of the app itself first.
    private var names: [String] {
        let own = ["X-Forwarded-User"] + self.app.headers.filter { $0.fact != .field(.assertion) }.map(\.name)
        let others = IdentityPreset.allCases.flatMap(\.headers).filter {
            [.field(.user), .field(.email)].contains($0.fact)
        }.map(
            \.name
        )
        let known = ManagedFields.all.flatMap(\.users)
        var seen: Set<String> = []
        return (own + others + known).filter { seen.insert($0.lowercased()).inserted }
    }

    /// All attempts, for a user whose name is nowhere else; those that an app with many headers must not displace first.
    func attempts(for user: String) -> [Attempt] {
        self.signatures(for: user) + self.assertions(for: user)
            + self.names.flatMap { name in self.spellings(of: name, for: user) }
    }

    /// A name as it is, and as servers of CGI, WSGI and Rack read it as the same.
    private func spellings(of name: String, for user: String) -> [Attempt] {
        let spelled = [
            name, name.replacing("-", with: "_"), name.replacing("-", with: "."),
            name.replacing("-", with: "_").uppercased(),
        ]
        var seen: Set<String> = []
        return spelled.filter { seen.insert($0).inserted }.map { spelling in
            Attempt(name: spelling, kind: .header, fields: [Field(name: spelling, value: user)])
        }
    }

    /// Assertions that no app may accept, under each name under which this app gets one.
    private func assertions(for user: String) -> [Attempt] {
        let names = ["X-Gatehouse-Assertion"] + self.app.headers.filter { $0.fact == .field(.assertion) }.map(\.name)
        let tokens = self.tokens(about: user)
        var attempts = names.flatMap { name in
            tokens.map { token in
                Attempt(
                    name: "\(name): \(token.name)",
                    kind: .assertion,
                    fields: [Field(name: name, value: token.text)]
                )
            }
        }
        guard self.app.identity.authorization == .assertion else { return attempts }
        attempts += tokens.map { token in
            let field = Field(name: "Authorization", value: "Bearer \(token.text)")
            return Attempt(name: "Authorization: \(token.name)", kind: .assertion, fields: [field])
        }
        return attempts
    }

    private func tokens(about user: String) -> [(name: String, text: String)] {
        var profile = Profile(provider: "probe", issuer: self.issuer, subject: user)
        profile.name = user
        let now = WallClock.system.now
        let claims = AssertionClaims(about: AssertedUser(profile), session: user, for: self.app.route.audience)
        var tokens = [("without a signature", self.unsigned(about: "probe:\(user)", at: now))]
        func add(_ name: String, _ keys: AssertionKeys, _ claims: AssertionClaims, at time: Instant) {
            let signer = AssertionSigner(keys: keys, issuer: self.issuer, lifetime: .seconds(120))
            guard let token = try? signer.sign(claims, at: time) else { return }
            tokens.append((name, String(decoding: token, as: UTF8.self)))
        }
        if let other = try? AssertionKey(from: .system) {
            add("signed by another key", AssertionKeys(signing: other), claims, at: now)
        }
        if let keys {
            add("expired", keys, claims, at: now.advanced(by: .seconds(-86_400)))
            let elsewhere = AssertionClaims(about: AssertedUser(profile), session: user, for: "https://other.invalid")
            add("for another app", keys, elsewhere, at: now)
        }
        return tokens
    }

    /// A JWT with `alg` `none`.
    private func unsigned(about user: String, at now: Instant) -> String {
        let claims: JSON = [
            "iss": .string(self.issuer), "aud": .string(self.app.route.audience), "sub": .string(user),
            "iat": .int(now.seconds), "nbf": .int(now.seconds), "exp": .int(now.seconds + 120), "groups": [],
        ]
        let head: JSON = ["alg": "none", "typ": "JWT"]
        return "\(Base64URL.encode(head.encoded)).\(Base64URL.encode(claims.encoded))."
    }
}
