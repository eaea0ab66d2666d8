// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

extension Shape<Bool> {
    /// A switch.
    static let flag: Shape = {
        let one = single("true or false") { text throws(InvalidValue) in
            guard text == "true" || text == "false" else { throw InvalidValue("is neither true nor false") }
            return text == "true"
        }
        let schema: JSON = ["anyOf": [["type": "boolean"], Schema.reference]]
        return Shape(one.kind, schema: schema, write: { .bool($0) }) { node, reading in
            // Everywhere else a bare word of YAML is rejected, since it was probably meant as a text.
            if case .scalar(let text, true) = node.content, text == "true" || text == "false" { return text == "true" }
            return one.read(node, &reading)
        }
    }()
}

extension Shape<String> {
    /// A text of 1 to 512 characters without control characters.
    static let text = single("a text") { text throws(InvalidValue) in
        guard !text.isEmpty else { throw InvalidValue("is empty") }
        guard text.count <= 512, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw InvalidValue("is longer than 512 characters or has a line break in it")
        }
        return text
    }

    /// A path that the gateway writes to, unchanged.
    static let path = single("a path") { text throws(InvalidValue) in
        guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else {
            throw InvalidValue("is not a path")
        }
        return text
    }

    /// An existing file; a relative path is resolved against the folder of the configuration file.
    static let existingFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a file"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0)
        else {
            return nil
        }
        let path = reading.path(scalar.text)
        let content = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: scalar.mark)
        return content.map { _ in path }
    }

    /// An existing file with a private key, which only its owner should be able to read.
    static let existingKeyFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        reading.warnOfSharedSecret(path, "a private key", at: node.mark)
        return path
    }

    /// An existing file of PEM certificates.
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

    /// The domain of email addresses.
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

/// Reads host names.
enum HostName {
    static func parse(_ text: String) throws(InvalidValue) -> String {
        if let mark = text.firstRange(of: "://") {
            throw InvalidValue(
                "is a URL; write the host alone: '\(text[mark.upperBound...].prefix { $0 != "/" && $0 != ":" })'"
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
    /// A secret of at least so many bytes; a warning if it is written in clear text.
    static func secret(atLeast minimum: Int) -> Shape {
        Shape("a secret", schema: Schema.text(pattern: nil)) { node, reading in
            reading.conceal(node)
            guard let scalar = reading.scalar(node, kind: "a secret") else { return nil }
            if scalar.source == .written {
                let help = "write ${env:NAME} or ${file:/path} instead"
                reading.warning("a secret is in the file in clear text; \(help)", at: scalar.mark)
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
    static func duration(_ bounds: ClosedRange<Duration>) -> Shape {
        let shown = "\(DurationText.text(of: bounds.lowerBound)) to \(DurationText.text(of: bounds.upperBound))"
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
        .written { .string(DurationText.text(of: $0)) }
    }
}

extension Shape<TimeAmount> {
    /// A time such as `12h`, within bounds, for timers of event loops.
    static func duration(_ bounds: ClosedRange<TimeAmount>) -> Shape {
        let bounds = Duration.nanoseconds(bounds.lowerBound.nanoseconds)...(.nanoseconds(bounds.upperBound.nanoseconds))
        return Shape<Duration>.duration(bounds).map(
            write: { .string(DurationText.text(of: .nanoseconds($0.nanoseconds))) },
            { TimeAmount($0) }
        )
    }
}

extension KeyDefault {
    /// A time as the file writes it.
    static func duration(_ time: Duration) -> KeyDefault { .value(.string(DurationText.text(of: time))) }
}

/// Durations as the file writes them.
enum DurationText {
    /// The units with their milliseconds, the longest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// A time in the largest unit, up to days, of which it is a whole number.
    static func text(of time: Duration) -> String {
        let milliseconds = time / .milliseconds(1)
        guard milliseconds > 0 else { return "0s" }
        let whole = self.units.dropFirst().first { milliseconds.remainder(dividingBy: Double($0.milliseconds)) == 0 }
        let unit = whole ?? ("ms", 1)
        return "\(Int64(milliseconds) / unit.milliseconds)\(unit.name)"
    }

    /// Reads `30s`, `15m`, `1h30m`, `7d` or `1w`; nil for anything else.
    ///
    /// Each unit occurs at most once, the longest first.
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

extension Shape<Int> {
    /// A whole number within bounds.
    static func number(_ bounds: ClosedRange<Int>) -> Shape {
        let shown = "\(bounds.lowerBound) to \(bounds.upperBound)"
        let one = single("a number, \(shown)") { text throws(InvalidValue) in
            guard let number = WholeNumber.parse(text) else { throw InvalidValue("is not a whole number, \(shown)") }
            guard bounds.contains(number) else { throw InvalidValue("is out of range; it must be \(shown)") }
            return number
        }
        return Shape(one.kind, schema: Schema.integer(bounds)) { one.read($0, &$1) }.written { .int(Int64($0)) }
    }

    /// The status of a redirect.
    static let redirectStatus: Shape = {
        let known = [301, 302, 303, 307, 308]
        let names = known.map(String.init).joined(separator: ", ")
        let one = single("a status") { text throws(InvalidValue) in
            guard let number = WholeNumber.parse(text), known.contains(number) else {
                throw InvalidValue("is not a status of a redirect; write one of \(names)")
            }
            return number
        }
        let schema: JSON = ["enum": .array(known.map { .int(Int64($0)) })]
        return Shape(
            "one of \(names)",
            schema: ["anyOf": [schema, Schema.reference]],
            write: { .int(Int64($0)) },
            read: { one.read($0, &$1) }
        )
    }()

    /// The status of a fixed response, which is not a redirect.
    static let responseStatus: Shape = {
        let any = Shape<Int>.number(200...599)
        return Shape(any.kind, schema: any.schema, write: any.write) { node, reading in
            guard let status = any.read(node, &reading) else { return nil }
            guard !(300...399).contains(status) else {
                reading.error("'\(status)' is a redirect; write 'redirect' instead of 'response'", at: node.mark)
                return nil
            }
            return status
        }
    }()
}

extension Shape where Value: FixedWidthInteger {
    /// A number of bytes within bounds.
    static func size(_ bounds: ClosedRange<Value>) -> Shape {
        let write: @Sendable (Value) -> String = { SizeText.text(of: Int($0)) }
        let shown = "\(write(bounds.lowerBound)) to \(write(bounds.upperBound))"
        let one = single("a size, \(shown)") { text throws(InvalidValue) in
            let bytes = try SizeText.parse(text)
            guard let size = Value(exactly: bytes), bounds.contains(size) else {
                throw InvalidValue("is out of range; it must be \(shown)")
            }
            return size
        }
        let written: JSON = ["type": "string", "pattern": .string(SizeText.pattern)]
        let number: JSON = ["type": "integer", "minimum": .int(Int64(bounds.lowerBound))]
        return Shape(
            one.kind,
            schema: ["anyOf": [number, written, Schema.reference]],
            write: { .string(write($0)) },
            read: { one.read($0, &$1) }
        )
    }
}

/// Whole numbers as the file writes them.
enum WholeNumber {
    /// Reads one to twelve digits; nil for anything else, a sign included.
    static func parse(_ text: some StringProtocol) -> Int? {
        guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}

/// Numbers of bytes as the file writes them.
enum SizeText {
    /// A regular expression for every size.
    static let pattern = "^[0-9]{1,12}([KMG]iB)?$"
    private static let units = ["": 0, "KiB": 10, "MiB": 20, "GiB": 30]

    /// A number of bytes in the largest unit of which it is a whole number.
    static func text(of bytes: Int) -> String {
        let units = self.units.sorted { $0.value > $1.value }
        let unit = units.first { bytes != 0 && bytes % (1 << $0.value) == 0 } ?? (key: "", value: 0)
        return "\(bytes >> unit.value)\(unit.key)"
    }

    /// Reads `4096`, `32KiB`, `100MiB` or `1GiB`.
    static func parse(_ text: String) throws(InvalidValue) -> Int {
        let digits = text.prefix { ("0"..."9").contains($0) }
        let unit = String(text[digits.endIndex...])
        guard let number = WholeNumber.parse(digits) else {
            throw InvalidValue("is not a size; write bytes as a whole number, or with a unit: 32KiB, 100MiB, 1GiB")
        }
        guard let shift = self.units[unit] else {
            let first = unit.drop { $0 == " " }.prefix(1).uppercased()
            let help = ["K", "M", "G"].contains(first) ? "; did you mean '\(digits)\(first)iB'?" : ""
            throw InvalidValue("has no unit of sizes, which are KiB, MiB and GiB; bytes have none\(help)")
        }
        let size = number.multipliedReportingOverflow(by: 1 << shift)
        return size.overflow ? .max : size.partialValue
    }
}

extension Shape<BindAddress> {
    /// A host and port to listen on.
    static let bindAddress = single("an address", pattern: #"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._\-]+):[0-9]{1,5}$"#) {
        text throws(InvalidValue) in
        if let address = BindAddress(text) { return address }
        let digits = text.drop { $0 == ":" }
        if !digits.isEmpty, digits.count <= 5, digits.allSatisfy(\.isNumber) {
            throw InvalidValue("has no host; write '127.0.0.1:\(digits)', or '0.0.0.0:\(digits)' for every interface")
        }
        throw InvalidValue("is not an address and a port such as 127.0.0.1:8080 or [::1]:8080")
    }
}

extension Shape<CIDRRange> {
    /// A network whose proxies are trusted.
    static let network = single("a network", pattern: #"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"#) { text throws(InvalidValue) in
        if let range = CIDRRange(text) { return range }
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        if sides.count == 2, IPAddress(sides[0]) != nil, let bits = Int(sides[1]), (0...128).contains(bits) {
            throw InvalidValue("has bits set after its prefix, or a prefix that is too long; write such as 10.0.0.0/8")
        }
        throw InvalidValue("is not a network such as 10.0.0.0/8 or 192.0.2.7")
    }
}

extension Shape<Origin> {
    /// The public origin: https, or http on loopback.
    static let publicOrigin = single("a URL", pattern: #"^https?://[^/?#@]+/?$"#) { text throws(InvalidValue) in
        let address = try SecureURL.parse(text, example: "https://gate.example.com")
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; the gateway needs a separate host, write '\(address.origin)'")
        }
        return address.origin
    }
}

extension Shape<WebURL> {
    /// The URL of a provider's server: https, or http on loopback.
    static let baseURL = single("a URL", pattern: #"^https?://[^?#@]+$"#) { text throws(InvalidValue) in
        let address = try SecureURL.parse(text, example: "https://github.example.com")
        guard address.query == nil else { throw InvalidValue("has a query; write the URL without it") }
        return address
    }

    /// An endpoint of a provider; it may have a query, which is kept.
    ///
    /// RFC 6749 §3.1.
    static let endpoint = single("a URL", pattern: #"^https?://[^#@]+$"#) { text throws(InvalidValue) in
        try SecureURL.parse(text, example: "https://id.example.com/authorize")
    }
}

extension Shape<String> {
    /// An issuer, unchanged since it is compared byte by byte.
    ///
    /// OpenID Connect Discovery 1.0 §4.3.
    static let issuer = single("a URL", pattern: #"^https?://[^?#@]+$"#) { text throws(InvalidValue) in
        let address = try SecureURL.parse(text, example: "https://id.example.com")
        guard address.query == nil else { throw InvalidValue("has a query; an issuer has none") }
        let known = "/.well-known/openid-configuration"
        guard !address.path.hasSuffix(known) else {
            throw InvalidValue("is the discovery document; the issuer is '\(text.dropLast(known.count))'")
        }
        return text
    }
}

/// Reads URLs that may be used only over TLS or on loopback.
enum SecureURL {
    static func parse(_ text: String, example: String) throws(InvalidValue) -> WebURL {
        guard let address = WebURL(text) else {
            let help = text.contains("://") ? "such as \(example)" : "; it starts with https://, such as \(example)"
            throw InvalidValue(text.contains("://") ? "is not a URL \(help)" : "is not a URL\(help)")
        }
        guard address.origin.isSecure || address.origin.isLoopback else {
            throw InvalidValue("is plain http, which is accepted on loopback only; write 'https://…'")
        }
        return address
    }
}
