// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import NIOCore

extension Shape<Bool> {
    /// A switch.
    package static let flag: Shape = {
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
    package static let text = single("a text") { text throws(InvalidValue) in
        guard !text.isEmpty else { throw InvalidValue("is empty") }
        guard text.count <= 512, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw InvalidValue("is longer than 512 characters or has a line break in it")
        }
        return text
    }

    /// A path that the gateway writes to, unchanged.
    package static let path = single("a path") { text throws(InvalidValue) in
        guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else {
            throw InvalidValue("is not a path")
        }
        return text
    }

    /// A file that is read when it is needed, and not with this one; a relative path is resolved against the folder of the
    /// configuration file.
    package static let laterFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        Shape<String>.path.read(node, &reading).map { reading.path($0) }
    }

    /// An existing file; a relative path is resolved against the folder of the configuration file.
    package static let existingFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a file"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0)
        else {
            return nil
        }
        let path = reading.path(scalar.text)
        let content = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: scalar.mark)
        return content.map { _ in path }
    }

    /// An existing file with a private key, which only its owner should be able to read.
    package static let existingKeyFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        reading.warnOfSharedSecret(path, "a private key", at: node.mark)
        return path
    }

    /// An existing file with a picture.
    package static let picture = Shape("a picture", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        guard let bytes = reading.bytes(of: path, limit: PictureFormat.maxSize, at: node.mark) else { return nil }
        guard PictureFormat(bytes) != nil else {
            reading.error("the file \(Scalar.quoted(path, limit: 4096)) is not SVG, PNG, JPEG or WebP", at: node.mark)
            return nil
        }
        return path
    }

    /// An existing file of UTF-8 text of at most so many bytes.
    package static func textFile(upTo limit: Int) -> Shape {
        Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
            guard let path = existingFile.read(node, &reading) else { return nil }
            guard let bytes = reading.bytes(of: path, limit: limit, at: node.mark) else { return nil }
            guard String(validating: bytes, as: UTF8.self) != nil else {
                reading.error("the file \(Scalar.quoted(path, limit: 4096)) is not UTF-8", at: node.mark)
                return nil
            }
            return path
        }
    }

    /// An existing file of PEM certificates.
    package static let certificatesFile = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let path = existingFile.read(node, &reading) else { return nil }
        let bytes = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: node.mark) ?? []
        guard String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            reading.error("the file \(Scalar.quoted(path, limit: 4096)) holds no PEM certificate", at: node.mark)
            return nil
        }
        return path
    }
}

extension Shape<Secret> {
    /// A secret of at least so many bytes; a warning if it is written in clear text.
    package static func secret(atLeast minimum: Int) -> Shape {
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
    package static func duration(_ bounds: ClosedRange<Duration>) -> Shape {
        let shown = "\(bounds.lowerBound.yamlText) to \(bounds.upperBound.yamlText)"
        let isFine = bounds.lowerBound > .zero && bounds.lowerBound < .seconds(1)
        let last = isFine ? "(ms|[smhdw])" : "[smhdw]"
        let examples = isFine ? "500ms, 30s, 15m or 1h30m" : "30s, 15m, 1h30m or 7d"
        let pattern = "^([0-9]{1,9}[wdhms])*[0-9]{1,9}\(last)$"
        return single("a duration, \(shown)", pattern: pattern) { text throws(InvalidValue) in
            guard let duration = Duration(yamlText: text, takesMilliseconds: isFine) else {
                throw InvalidValue("is not a duration; write whole numbers with units, such as \(examples)")
            }
            guard bounds.contains(duration) else { throw InvalidValue("is out of range; it must be \(shown)") }
            return duration
        }
        .written { .string($0.yamlText) }
    }
}

extension Shape<TimeAmount> {
    /// A time such as `12h`, within bounds, for timers of event loops.
    package static func duration(_ bounds: ClosedRange<TimeAmount>) -> Shape {
        let bounds = Duration.nanoseconds(bounds.lowerBound.nanoseconds)...(.nanoseconds(bounds.upperBound.nanoseconds))
        return Shape<Duration>.duration(bounds).map(
            write: { .string(Duration.nanoseconds($0.nanoseconds).yamlText) },
            { TimeAmount($0) }
        )
    }
}

extension KeyDefault {
    /// A time as the file writes it.
    package static func duration(_ time: Duration) -> KeyDefault { .value(.string(time.yamlText)) }
}

extension Duration {
    /// The units with their milliseconds, the longest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// The time as the file writes it: in the largest unit, up to days, of which it is a whole number.
    package var yamlText: String {
        let milliseconds = self / .milliseconds(1)
        guard milliseconds > 0 else { return "0s" }
        let whole = Duration.units.dropFirst().first {
            milliseconds.remainder(dividingBy: Double($0.milliseconds)) == 0
        }
        let unit = whole ?? ("ms", 1)
        return "\(Int64(saturating: milliseconds) / unit.milliseconds)\(unit.name)"
    }

    /// Reads `30s`, `15m`, `1h30m`, `7d` or `1w`; nil for anything else.
    ///
    /// Each unit occurs at most once, the longest first.
    package init?(yamlText text: String, takesMilliseconds: Bool = false) {
        var rest = text[...]
        var units = (takesMilliseconds ? Duration.units : Duration.units.dropLast())[...]
        var sum: Int64 = 0
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            let name = rest[digits.endIndex...].prefix { !("0"..."9").contains($0) }
            guard let number = Duration.number(digits), let index = units.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            sum += number * units[index].milliseconds
            units = units[(index + 1)...]
            rest = rest[name.endIndex...]
        } while !rest.isEmpty
        self = .milliseconds(sum)
    }

    private static func number(_ digits: Substring) -> Int64? {
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits)
    }
}

extension Shape<Instant> {
    /// A day, as its first instant in UTC.
    package static let date = single("a date", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$") { text throws(InvalidValue) in
        guard let day = Instant(date: text) else { throw InvalidValue("is not a date such as 2027-06-01") }
        return day
    }
}

extension Shape<Int> {
    /// A whole number within bounds.
    package static func number(_ bounds: ClosedRange<Int>) -> Shape {
        let shown = "\(bounds.lowerBound) to \(bounds.upperBound)"
        let one = single("a number, \(shown)") { text throws(InvalidValue) in
            guard let number = Int(wholeNumber: text) else { throw InvalidValue("is not a whole number, \(shown)") }
            guard bounds.contains(number) else { throw InvalidValue("is out of range; it must be \(shown)") }
            return number
        }
        return Shape(one.kind, schema: Schema.integer(bounds)) { one.read($0, &$1) }.written { .int(Int64($0)) }
    }
}

extension Shape where Value: FixedWidthInteger {
    /// A number of bytes within bounds.
    package static func size(_ bounds: ClosedRange<Value>) -> Shape {
        let write: @Sendable (Value) -> String = { Int($0).sizeText }
        let shown = "\(write(bounds.lowerBound)) to \(write(bounds.upperBound))"
        let one = single("a size, \(shown)") { text throws(InvalidValue) in
            let bytes = try Int(sizeText: text)
            guard let size = Value(exactly: bytes), bounds.contains(size) else {
                throw InvalidValue("is out of range; it must be \(shown)")
            }
            return size
        }
        let written: JSON = ["type": "string", "pattern": .string(Int.sizePattern)]
        let number: JSON = ["type": "integer", "minimum": .int(Int64(bounds.lowerBound))]
        return Shape(
            one.kind,
            schema: ["anyOf": [number, written, Schema.reference]],
            write: { .string(write($0)) },
            read: { one.read($0, &$1) }
        )
    }
}

extension Shape<Instant> {
    private static let form = "such as 2026-12-31T18:00:00+01:00, or 2026-12-31T17:00:00Z in UTC"

    /// A date and a time of day with the zone: without it, the same text would be another time at another place.
    ///
    /// RFC 3339 §5.6.
    package static let instant = single(
        "a date and time with its zone",
        pattern: #"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}([Zz]|[+\-][0-9]{2}:[0-9]{2})$"#
    ) { text throws(InvalidValue) in
        if let time = Instant(timestamp: text) { return time }
        if Instant(date: text) != nil { throw InvalidValue("has neither a time of day nor a zone; write it \(form)") }
        if Instant(timestamp: text + "Z") != nil { throw InvalidValue("has no zone; write it \(form)") }
        throw InvalidValue("is not a date and time of whole seconds with its zone; write it \(form)")
    }
}

extension Int {
    /// Reads one to twelve digits; nil for anything else, a sign included.
    package init?(wholeNumber text: some StringProtocol) {
        guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        self.init(text)
    }
}

// Numbers of bytes as the file writes them.
extension Int {
    /// A regular expression for every size.
    fileprivate static let sizePattern = "^[0-9]{1,12}([KMG]iB)?$"
    private static let sizeUnits = ["": 0, "KiB": 10, "MiB": 20, "GiB": 30]

    /// A number of bytes in the largest unit of which it is a whole number.
    var sizeText: String {
        let units = Int.sizeUnits.sorted { $0.value > $1.value }
        let unit = units.first { self != 0 && self % (1 << $0.value) == 0 } ?? (key: "", value: 0)
        return "\(self >> unit.value)\(unit.key)"
    }

    /// Reads `4096`, `32KiB`, `100MiB` or `1GiB`.
    init(sizeText text: String) throws(InvalidValue) {
        let digits = text.prefix { ("0"..."9").contains($0) }
        let unit = String(text[digits.endIndex...])
        guard let number = Int(wholeNumber: digits) else {
            throw InvalidValue("is not a size; write bytes as a whole number, or with a unit: 32KiB, 100MiB, 1GiB")
        }
        guard let shift = Int.sizeUnits[unit] else {
            let first = unit.drop { $0 == " " }.prefix(1).uppercased()
            let help = ["K", "M", "G"].contains(first) ? "; did you mean '\(digits)\(first)iB'?" : ""
            throw InvalidValue("has no unit of sizes, which are KiB, MiB and GiB; bytes have none\(help)")
        }
        let size = number.multipliedReportingOverflow(by: 1 << shift)
        self = size.overflow ? .max : size.partialValue
    }
}

extension Shape<Duration?> {
    /// A word, which is nil, or a time.
    package static func duration(_ range: ClosedRange<Duration>, or word: String) -> Shape {
        let time = Shape<Duration>.duration(range)
        let schema: JSON = ["anyOf": [["const": .string(word)], time.schema]]
        return Shape(
            "`\(word)`, or \(time.kind)",
            schema: schema,
            write: { .string($0.map(\.yamlText) ?? word) },
            read: { node, reading in
                if case .scalar(word, _) = node.content { return .some(nil) }
                return time.read(node, &reading)
            }
        )
    }

    /// How long the provider's word holds: `sessions.recheck`, and that of an app.
    package static let recheck = Shape.duration(.seconds(1)...(.seconds(3650 * 86_400)), or: "never")
}
