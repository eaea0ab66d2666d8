// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore
internal import GatePolicy

// Signatures over identity headers that no app may accept, for an app whose headers the gateway signs: RFC 9421.
extension BypassProbe {
    /// The headers of an invented user with each such signature; none if the gateway does not sign the headers of the app.
    func signatures(for user: String) -> [Attempt] {
        guard let scope = self.app.identity.signature else { return [] }
        var seen: Set<String> = []
        let names = ["X-Forwarded-User"] + self.app.headers.filter { $0.fact == .field(.user) }.map(\.name)
        let headers = names.filter { seen.insert($0.lowercased()).inserted }.map { Field(name: $0, value: user) }
        let parts = scope == .request ? self.signedParts : []
        let covered = parts + headers.map { (name: $0.name.lowercased(), value: $0.value) }
        let now = WallClock.system.now
        let ownID = self.keys?.signing.id ?? "probe"
        var attempts: [Attempt] = []
        func add(_ name: String, _ input: String, _ signature: [UInt8]?) {
            var fields = headers + [Field(name: "Signature-Input", value: "gatehouse=\(input)")]
            if let signature {
                fields.append(Field(name: "Signature", value: "gatehouse=:\(Base64URL.padded(signature)):"))
            }
            attempts.append(Attempt(name: "Signature: \(name)", kind: .signature, fields: fields))
        }
        func add(
            _ name: String,
            by keys: AssertionKeys,
            over covered: [(name: String, value: String)],
            at time: Instant
        ) {
            let signer = AssertionSigner(keys: keys, issuer: self.issuer, lifetime: .seconds(120))
            let input = self.input(over: covered, keyID: ownID, at: time)
            let lines = covered.map { "\"\($0.name)\": \($0.value)\n" }.joined()
            guard let signature = try? signer.signature(of: Array("\(lines)\"@signature-params\": \(input)".utf8))
            else {
                return
            }
            add(name, input, signature)
        }
        let input = self.input(over: covered, keyID: ownID, at: now)
        add("missing", input, nil)
        add("of 64 zeros", input, Array(repeating: 0, count: 64))
        if let other = try? AssertionKey(from: .system) {
            add("by another key", by: AssertionKeys(signing: other), over: covered, at: now)
        }
        if let keys {
            add("expired", by: keys, over: covered, at: now.advanced(by: .seconds(-86_400)))
            // What an observer of a signed request could add to it.
            add("not over the identity", by: keys, over: parts, at: now)
        }
        return attempts
    }

    /// The value of `Signature-Input` after the label, as the gateway writes it.
    private func input(over covered: [(name: String, value: String)], keyID: String, at time: Instant) -> String {
        let names = covered.map { "\"\($0.name)\"" }.joined(separator: " ")
        return "(\(names));created=\(time.seconds);expires=\(time.seconds + 120);keyid=\"\(keyID)\""
            + ";alg=\"ecdsa-p256-sha256\";tag=\"gatehouse\""
    }

    /// The parts of the requests of this command that a signature over the whole request covers.
    private var signedParts: [(name: String, value: String)] {
        let authority = self.app.traffic.upstreamHost ?? self.app.route.origins.first?.authority ?? ""
        let path = self.path.prefix { $0 != "?" }
        return [
            ("@method", "GET"), ("@authority", authority.lowercased()), ("@path", String(path)),
            ("@query", path.count == self.path.count ? "?" : String(self.path.dropFirst(path.count))),
        ]
    }
}
