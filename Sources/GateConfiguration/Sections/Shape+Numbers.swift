// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Shape<Int> {
    /// A whole number within bounds.
    static func number(_ bounds: ClosedRange<Int>) -> Shape {
        let shown = "\(bounds.lowerBound) to \(bounds.upperBound)"
        let one = single("a number, \(shown)") { text throws(InvalidValue) in
            guard let number = WholeNumber.parse(text) else { throw InvalidValue("is not a whole number, \(shown)") }
            guard bounds.contains(number) else { throw InvalidValue("is out of range; it must be \(shown)") }
            return number
        }
        return Shape(one.kind, schema: Schema.integer(bounds)) { one.read($0, &$1) }
    }

    /// One of the statuses that lead elsewhere.
    static let redirectStatus: Shape = {
        let known = [301, 302, 303, 307, 308]
        let names = known.map(String.init).joined(separator: ", ")
        let one = single("a status") { text throws(InvalidValue) in
            guard let number = WholeNumber.parse(text), known.contains(number) else {
                throw InvalidValue("is no status of a redirect; write one of \(names)")
            }
            return number
        }
        let schema: JSON = ["enum": .array(known.map { .int(Int64($0)) })]
        return Shape("one of \(names)", schema: ["anyOf": [schema, Schema.reference]]) { one.read($0, &$1) }
    }()

    /// The status of a fixed answer, which cannot lead elsewhere.
    static let answerStatus: Shape = {
        let any = Shape<Int>.number(200...599)
        return Shape(any.kind, schema: any.schema) { node, reading in
            guard let status = any.read(node, &reading) else { return nil }
            guard !(300...399).contains(status) else {
                reading.error("'\(status)' leads elsewhere; write 'redirect' instead of 'answer'", at: node.mark)
                return nil
            }
            return status
        }
    }()
}

extension Shape where Value: FixedWidthInteger {
    /// A number of bytes within bounds, which are shown as given.
    static func size(_ bounds: ClosedRange<Value>, shown: String) -> Shape {
        let one = single("a size, \(shown)") { text throws(InvalidValue) in
            let bytes = try SizeText.parse(text)
            guard let size = Value(exactly: bytes), bounds.contains(size) else {
                throw InvalidValue("is out of range; it must be \(shown)")
            }
            return size
        }
        let written: JSON = ["type": "string", "pattern": .string(SizeText.pattern)]
        let number: JSON = ["type": "integer", "minimum": .int(Int64(bounds.lowerBound))]
        return Shape(one.kind, schema: ["anyOf": [number, written, Schema.reference]]) { one.read($0, &$1) }
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
    /// What every size fits.
    static let pattern = "^[0-9]{1,12}([KMG]iB)?$"
    private static let units = ["": 0, "KiB": 10, "MiB": 20, "GiB": 30]

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
