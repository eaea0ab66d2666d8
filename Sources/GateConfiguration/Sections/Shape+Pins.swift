// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

extension Shape<Pin> {
    /// The base64 of a SHA-256, in its one canonical spelling.
    static let pin = Shape("a pin", schema: Schema.text(pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$")) {
        node,
        reading in
        guard let scalar = reading.scalar(node, kind: "a pin") else { return nil }
        if let pin = Pin(base64: scalar.text) { return pin }
        guard !scalar.text.contains("-----BEGIN") else {
            // It may be a private key.
            reading.conceal(node)
            reading.error(
                "this is PEM text, but a pin is a hash of the key; 'gatehouse pins HOST' prints it",
                at: scalar.mark
            )
            return nil
        }
        reading.error("\(scalar.shown) \(PinSyntax.complaint(about: scalar.text))", at: scalar.mark)
        return nil
    }
}

extension Shape<[Located<Pin>]> {
    /// The pins of one set: 1 to 64, each once.
    static let pins: Shape = {
        let list = Shape.list(of: Shape<Pin>.pin.located, named: "a list of pins")
        let schema: JSON = ["type": "array", "items": Shape<Pin>.pin.schema, "minItems": 1, "maxItems": 64]
        return Shape(list.kind, schema: schema) { node, reading in
            guard let pins = list.read(node, &reading), case .sequence(let nodes) = node.content else { return nil }
            guard (1...64).contains(nodes.count) else {
                let help = "write the pin of the key in use and that of a backup; 'gatehouse pins HOST' prints them"
                let message = nodes.isEmpty ? "the list has no pin; \(help)" : "more than 64 pins"
                reading.error(message, at: node.mark)
                return nil
            }
            var first: [Pin: YAMLMark] = [:]
            for pin in pins {
                if let other = first[pin.value] {
                    reading.error("'\(pin.value)' is here twice; first in line \(other.line)", at: pin.mark)
                } else {
                    first[pin.value] = pin.mark
                }
            }
            return pins
        }
        .whole
    }()
}

extension Shape<PinSetDraft> {
    /// `providers.<name>.tls.pins`.
    static let pins = named(or: .pins)

    /// The name of a preset, or a mapping.
    fileprivate static func named(or mapping: Mapping<PinSetDraft>) -> Shape {
        let preset = Shape<PinPreset>.oneOf("a preset")
        let whole = mapping.shape
        let kind = "the name of a preset or a mapping with 'sha256'"
        let content = ["sha256", "preset", "hosts"].filter { name in mapping.keys.contains { $0.name == name } }
        var members = whole.schema.object ?? [:]
        members["anyOf"] = .array(content.map { ["required": [.string($0)]] })
        let schema: JSON = ["anyOf": [preset.schema, .object(members)]]
        return Shape("the name of a preset or a mapping", schema: schema, sections: whole.sections) { node, reading in
            switch node.content {
            case .mapping: return whole.read(node, &reading)
            case .scalar where !node.isNull:
                return preset.read(node, &reading).map { PinSetDraft(mark: node.owner, preset: $0) }
            case .scalar, .sequence:
                reading.wrongType(node, kind: kind)
                return nil
            }
        }
    }
}

extension Shape<[Named<PinSetDraft>]> {
    /// `providers.<name>.tls.pins.hosts`: 1 to 32.
    static let pinnedHosts: Shape = {
        let entries = Shape.entries(
            of: Shape<PinSetDraft>.named(or: .hostPins),
            named: "a mapping of hosts to pins",
            rule: .pinnedHost
        )
        var members = entries.schema.object ?? [:]
        members["maxProperties"] = 32
        return Shape(entries.kind, schema: .object(members), sections: entries.sections) { node, reading in
            if case .mapping(let hosts) = node.content, hosts.count > 32 {
                reading.error("more than 32 hosts", at: node.owner)
            }
            return entries.read(node, &reading)
        }
    }()
}

extension NameRule {
    /// The hosts that have pins of their own.
    static let pinnedHost = NameRule(
        subject: "the name of a host",
        pattern: #"^([A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])$"#,
        complaint: { text in
            guard text.contains("://") || !text.contains("/") else { return "it has a path; write the host alone" }
            do throws(InvalidValue) {
                _ = try HostName.parse(text)
                return nil
            } catch {
                return "it \(error.message)"
            }
        },
        identity: { Origin.normalHost($0) ?? $0 }
    )
}

extension Shape<Instant> {
    /// A day, as its first instant in UTC.
    static let date = single("a date", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$") { text throws(InvalidValue) in
        guard let day = Instant(date: text) else { throw InvalidValue("is not a date such as 2027-06-01") }
        return day
    }
}

extension Shape<WebURL> {
    /// The address of an HTTP proxy.
    static let proxy: Shape = {
        let one = single("an address", pattern: "^http://[^/?#@]+/?$", parse: proxyAddress)
        return Shape(one.kind, schema: one.schema) { node, reading in
            if case .scalar(let text, _) = node.content, text.contains("@") {
                // There may be a password before it.
                reading.conceal(node)
                let message = "the proxy has a user name, which is not supported; write 'http://' and its host and port"
                reading.error(message, at: node.mark)
                return nil
            }
            return one.read(node, &reading)
        }
    }()

    private static func proxyAddress(_ text: String) throws(InvalidValue) -> WebURL {
        guard let mark = text.firstRange(of: "://") else {
            let isAuthority = WebURL("http://\(text)") != nil
            throw InvalidValue(
                "is not an address; \(isAuthority ? "did you mean 'http://\(text)'?" : "write such as http://proxy:3128")"
            )
        }
        guard text[..<mark.lowerBound].lowercased() == "http" else {
            throw InvalidValue(
                "is not an http:// proxy, and others are not supported; what goes through it is https anyway"
            )
        }
        guard let address = WebURL(text) else {
            throw InvalidValue("is not an address such as http://proxy.example.com:3128")
        }
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; a proxy is a host and a port, write '\(address.origin)'")
        }
        return address
    }
}
