// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Shape<Pin> {
    /// The base64 of a SHA-256, in its one canonical spelling.
    package static let pin = Shape("a pin", schema: Schema.text(pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$")) {
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
        reading.error("\(scalar.shown) \(Pin.reason(against: scalar.text))", at: scalar.mark)
        return nil
    }
}

extension Shape<[Located<Pin>]> {
    /// The pins of one set: 1 to 64, each once.
    package static let pins: Shape = {
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

extension Pin {
    /// Explains why a text is not a pin, in words that follow it.
    ///
    /// ``init(base64:)`` alone decides what a pin is; this only explains the usual mistakes.
    fileprivate static func reason(against text: String) -> String {
        guard !text.isEmpty else { return "is not a pin; 'gatehouse pins HOST' prints those of a host" }
        return self.prefix(of: text) ?? self.hexadecimal(text) ?? self.whiteSpace(in: text) ?? self.alphabet(of: text)
            ?? self.length(of: text) ?? self.ending(of: text)
    }

    /// The spellings of `Public-Key-Pins`, curl and some libraries.
    private static func prefix(of text: String) -> String? {
        let folded = text.lowercased()
        let known = ["sha256//", "sha256/", "sha256:", "sha256=", "pin-sha256=", "pin-sha256:"]
        guard let prefix = known.first(where: folded.hasPrefix) else { return nil }
        let rest = text.dropFirst(prefix.count).split { "\"'; ".contains($0) }.joined()
        let help = Pin(base64: rest).map { "'\($0)'" } ?? "the base64 alone"
        return "starts with '\(prefix)'; write it without: \(help)"
    }

    private static func hexadecimal(_ text: String) -> String? {
        let digits = Array(text.utf8.filter { $0 != UInt8(ascii: ":") })
        guard digits.count >= 32, digits.count.isMultiple(of: 2) else { return nil }
        let values = digits.compactMap(PercentEncoding.value(of:))
        guard values.count == digits.count else { return nil }
        let bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
        guard let pin = Pin(bytes) else { return "is hexadecimal and \(self.amount(bytes.count))" }
        return "is hexadecimal; write it in base64: '\(pin)'"
    }

    private static func whiteSpace(in text: String) -> String? {
        guard text.contains(where: \.isWhitespace) else { return nil }
        let help = Pin(base64: text.filter { !$0.isWhitespace }).map { "'\($0)'" } ?? "the base64 in one piece"
        return "has white space in it; write \(help)"
    }

    private static func alphabet(of text: String) -> String? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let content = standard.trimmingSuffix { $0 == "=" }
        let stranger = content.unicodeScalars.first { scalar in
            !scalar.isASCII || !(scalar.properties.isAlphabetic || "0123456789+/".unicodeScalars.contains(scalar))
        }
        if let stranger { return "is not base64; it has \(Scalar.quoted(String(stranger))) in it" }
        guard standard != text else { return nil }
        let help = Pin(base64: "\(content)=").map { ": '\($0)'" } ?? ""
        return "is in the base64 alphabet for URLs; write '+' for '-' and '/' for '_'\(help)"
    }

    private static func length(of text: String) -> String? {
        let content = text.trimmingSuffix { $0 == "=" }
        guard content.utf8.count % 4 != 1 else { return "is not base64; it is truncated or has a character too many" }
        let count = content.utf8.count * 3 / 4
        return count == Pin.length ? nil : self.amount(count)
    }

    private static func ending(of text: String) -> String {
        let content = text.trimmingSuffix { $0 == "=" }
        if let pin = Pin(base64: "\(content)=") { return "lacks its one '=' at the end; write '\(pin)'" }
        let last = content.last.map { "'\($0)'" } ?? ""
        return "cannot end in \(last), which has bits of no byte; it was mistyped or truncated, so copy it again"
    }

    private static func amount(_ count: Int) -> String {
        let names = [16: "MD5", 20: "SHA-1", 28: "SHA-224", 48: "SHA-384", 64: "SHA-512"]
        let name = names[count].map { ", as \($0) has" } ?? ""
        return "encodes \(count) bytes\(name); a pin is a SHA-256, 32 bytes"
    }
}

extension String {
    fileprivate func trimmingSuffix(while isPart: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isPart(last) { rest.removeLast() }
        return rest
    }
}
