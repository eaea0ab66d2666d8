// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Shape<String> {
    /// A text of 1 to 512 characters without control characters.
    static let text = single("a text") { text throws(InvalidValue) in
        guard !text.isEmpty else { throw InvalidValue("is empty") }
        guard text.count <= 512, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw InvalidValue("is longer than 512 characters or has a line break in it")
        }
        return text
    }

    /// A path that the gateway writes to; taken as it is.
    static let path = single("a path") { text throws(InvalidValue) in
        guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else { throw InvalidValue("is no path") }
        return text
    }

    /// A file that must be there; a relative path is taken from the folder of the configuration file.
    static let existingFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a file"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0)
        else {
            return nil
        }
        let path = reading.path(scalar.text)
        let content = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: scalar.mark)
        return content.map { _ in path }
    }

    /// A file with a private key, which must be there and should be its owner's alone.
    static let existingKeyFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        reading.warnOfSharedSecret(path, "a private key", at: node.mark)
        return path
    }

    /// A file of PEM certificates that must be there.
    static let certificatesFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        let bytes = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: node.mark) ?? []
        guard String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            reading.error("the file \(Scalar.quoted(path, limit: 4096)) holds no PEM certificate", at: node.mark)
            return nil
        }
        return path
    }

    /// The name of a host, without scheme and port.
    static let host = single("a host name", pattern: #"^[A-Za-z0-9._\-\[\]:]+$"#) { text throws(InvalidValue) in
        try HostName.parse(text)
    }

    /// The domain of e-mail addresses.
    static let domain = single("a domain", pattern: #"^[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]+)+\.?$"#) {
        text throws(InvalidValue) in
        if let sign = text.lastIndex(of: "@") {
            let rest = text[text.index(after: sign)...]
            throw InvalidValue("is not a domain; write it without '@'\(rest.isEmpty ? "" : ": '\(rest)'")")
        }
        guard let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") else {
            throw InvalidValue("is not a domain such as example.com")
        }
        return domain
    }
}

/// Reads what stands for a host in the file.
enum HostName {
    static func parse(_ text: String) throws(InvalidValue) -> String {
        if let mark = text.firstRange(of: "://") {
            throw InvalidValue(
                "is an address; write the host alone: '\(text[mark.upperBound...].prefix { $0 != "/" && $0 != ":" })'"
            )
        }
        guard !text.contains("/") else { throw InvalidValue("is not a host name; the path belongs to 'path'") }
        guard !text.contains("*") else { throw InvalidValue("is not a host name; wildcards are not supported") }
        if let host = Origin.normalHost(text) { return host }
        if let split = WebURL.split(authority: text), split.port != nil {
            throw InvalidValue("has a port; a host matches whatever the port, write '\(split.host)'")
        }
        throw InvalidValue("is not a host name such as wiki.example.com")
    }
}

extension Shape<Secret> {
    /// A secret of at least so many bytes; a warning if it is written in clear.
    static func secret(atLeast minimum: Int) -> Shape {
        Shape("a secret", schema: Schema.text(pattern: nil)) { node, reading in
            reading.conceal(node)
            guard let scalar = reading.scalar(node, kind: "a secret") else { return nil }
            if scalar.source == .written {
                let help = "write ${env:NAME} or ${file:/path} instead"
                reading.warning("a secret stands in the file in clear; \(help)", at: scalar.mark)
            }
            if let file = scalar.file { reading.warnOfSharedSecret(file, "a secret", at: scalar.mark) }
            let secret = Secret(text: scalar.text)
            guard secret.count >= minimum else {
                let help = minimum > 1 ? "; 'openssl rand -base64 32' makes a good one" : ""
                let count = "the secret has \(secret.count) bytes and needs at least \(minimum)"
                reading.error(count + help, at: scalar.mark)
                return nil
            }
            return secret
        }
    }
}

extension Shape<Duration> {
    /// A time such as `12h`, within bounds; where those begin below a second, `500ms` too.
    static func duration(_ bounds: ClosedRange<Duration>, shown: String) -> Shape {
        let isFine = bounds.lowerBound > .zero && bounds.lowerBound < .seconds(1)
        let last = isFine ? "(ms|[smhdw])" : "[smhdw]"
        let examples = isFine ? "500ms, 30s, 15m or 1h30m" : "30s, 15m, 1h30m or 7d"
        let pattern = "^([0-9]{1,9}[wdhms])*[0-9]{1,9}\(last)$"
        return single("a duration, \(shown)", pattern: pattern) { text throws(InvalidValue) in
            guard let duration = DurationText.parse(text, takesMilliseconds: isFine) else {
                throw InvalidValue("is not a duration; write whole numbers with units, such as \(examples)")
            }
            guard bounds.contains(duration) else { throw InvalidValue("is out of range; it must be \(shown)") }
            return duration
        }
    }
}

/// Durations as the file writes them.
enum DurationText {
    /// The units with their milliseconds, the longest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Reads `30s`, `15m`, `1h30m`, `7d` or `1w`; nil for anything else.
    ///
    /// Each unit stands once at most, the longest first.
    static func parse(_ text: String, takesMilliseconds: Bool = false) -> Duration? {
        var rest = text[...]
        var units = (takesMilliseconds ? self.units : self.units.dropLast())[...]
        var sum: Int64 = 0
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            let name = rest[digits.endIndex...].prefix { !("0"..."9").contains($0) }
            guard let number = self.number(digits), let index = units.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            sum += number * units[index].milliseconds
            units = units[(index + 1)...]
            rest = rest[name.endIndex...]
        } while !rest.isEmpty
        return .milliseconds(sum)
    }

    private static func number(_ digits: Substring) -> Int64? {
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits)
    }
}
