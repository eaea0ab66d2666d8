// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The `Cookie` field of a request, parsed as bytes.
///
/// Pairs are split at `;`, only spaces and tabs around a pair are dropped, and names are compared byte by byte. There
/// are no quoted values, no `$Version` and no percent-encoding: servers with such rules let a sibling domain forge a
/// `__Host-` cookie.
package struct CookieHeader: Sendable {
    private let bytes: [UInt8]

    /// The field of a request, empty if absent; several fields are joined with `;` by the caller.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The field as text.
    package init(_ text: String) {
        self.init(Array(text.utf8))
    }

    package func lookup(_ name: String) -> CookieLookup<ArraySlice<UInt8>> {
        switch CookieScan(wanted: name).find(in: self.bytes.span) {
        case .absent: .absent
        case .repeated: .repeated
        case .value(let range): .value(self.bytes[range])
        }
    }

    /// The length of the field in bytes.
    var byteCount: Int { self.bytes.count }

    /// The length of the cookies whose names start with a prefix, in bytes, with what separates each from the next.
    func byteCount(ofNamesWithPrefix prefix: String) -> Int {
        self.bytes.split(separator: UInt8(ascii: ";")).reduce(0) { count, pair in
            pair.drop { $0 == 0x20 || $0 == 0x09 }.starts(with: prefix.utf8) ? count + pair.count + 1 : count
        }
    }

    /// The value of a cookie in the pieces of ``SplitCookie``; nil if it is absent, or in another form.
    func value(ofSplit name: String) -> [UInt8]? { SplitCookie(name: name).value(in: self.bytes.span) }

    /// The names that start with a prefix, in the order the browser sent them, at most 64.
    package func names(withPrefix prefix: String) -> [String] {
        let pairs = self.bytes.split(separator: UInt8(ascii: ";")).lazy.map { pair in
            pair.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != UInt8(ascii: "=") }
        }
        let names = pairs.filter { $0.starts(with: prefix.utf8) }.prefix(64)
        return names.compactMap { String(validating: $0, as: UTF8.self) }
    }
}

extension CookieHeader {
    /// Calls `body` with the range of each pair of a `Cookie` field that may be forwarded to an app, for the hot path.
    ///
    /// It leaves out the cookies that ``GatewayCookie/mayBeReadAsOurs(_:)`` names.
    package static func forEachForeign(in field: Span<UInt8>, _ body: (Range<Int>) -> Void) {
        var start = 0
        while start < field.count {
            let end = field.position(of: UInt8(ascii: ";"), from: start)
            var first = start
            while first < end, field[first] == 0x20 || field[first] == 0x09 {
                first += 1
            }
            // An app may also read one of ours from `=name=value` and `name =value`.
            if first < end, !GatewayCookie.mayBeReadAsOurs(field.extracting(first..<end)) { body(first..<end) }
            start = end + 1
        }
    }
}

/// The result of a cookie look-up, with the value itself or its position.
package enum CookieLookup<Value: Sendable & Equatable>: Sendable, Equatable {
    /// There is no such cookie.
    case absent
    /// There is one, with this value.
    case value(Value)
    /// There are several, at least one of which the gateway did not set; none may be used.
    case repeated
}

/// Finds one cookie in a field without copying, for the hot path.
package struct CookieScan: Sendable {
    private let wanted: String

    /// A scan for the cookie of this name.
    package init(wanted: String) {
        self.wanted = wanted
    }

    /// Where the cookie is in the value of a `Cookie` field.
    package func find(in field: Span<UInt8>) -> CookieLookup<Range<Int>> {
        var found = CookieLookup<Range<Int>>.absent
        var start = 0
        while start < field.count {
            let end = field.position(of: UInt8(ascii: ";"), from: start)
            if let value = self.value(in: field, from: start, to: end) {
                guard case .absent = found else { return .repeated }
                found = .value(value)
            }
            start = end + 1
        }
        return found
    }

    private func value(in field: Span<UInt8>, from start: Int, to end: Int) -> Range<Int>? {
        var start = start
        var end = end
        while start < end, field[start] == 0x20 || field[start] == 0x09 {
            start += 1
        }
        while end > start, field[end - 1] == 0x20 || field[end - 1] == 0x09 {
            end -= 1
        }
        let mark = start + self.wanted.utf8.count
        guard mark < end, field[mark] == UInt8(ascii: "=") else { return nil }
        guard field.extracting(start..<mark).starts(with: self.wanted) else { return nil }
        return (mark + 1)..<end
    }
}
