// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The start line: method, target and version, each at its offset.
///
/// RFC 9112 §3.
struct RequestLine {
    /// The maximum length of a method in bytes; registered ones have at most 17.
    static let maxMethodBytes = 32

    private(set) var method = RequestMethod.get
    private(set) var target = 0..<0
    /// Whether the target has only characters that RFC 3986 allows.
    private(set) var isTargetPlain = true
    private(set) var minorVersion = 1

    /// A line that is not parsed yet.
    init() {}

    /// The line of an HTTP/2 request.
    init(_ method: RequestMethod, target: Range<Int>, isTargetPlain: Bool) {
        self.method = method
        self.target = target
        self.isTargetPlain = isTargetPlain
    }

    /// Parses the line.
    ///
    /// - Returns: Where the next line starts; nil when more bytes are needed.
    mutating func read(_ bytes: Span<UInt8>, limits: HeadLimits) throws(WireRejection) -> Int? {
        var position = 0
        while position < bytes.count, ByteClass.isToken(bytes[position]) {
            position += 1
            guard position <= RequestLine.maxMethodBytes else { throw WireRejection(.requestMethodTooLong) }
        }
        guard position < bytes.count else { return nil }
        guard bytes[position] == 0x20, position > 0 else { throw .malformed(.requestStartLine) }
        let methodEnd = position
        position += 1
        let targetStart = position
        while position < bytes.count {
            if !ByteClass.isTarget(bytes[position]) {
                guard ByteClass.isLenientTarget(bytes[position]) else { break }
                self.isTargetPlain = false
            }
            position += 1
        }
        guard position < bytes.count else { return nil }
        guard position - targetStart <= limits.targetBytes else { throw WireRejection(.wireTargetTooLong) }
        guard bytes[position] == 0x20, position > targetStart else {
            throw .malformed(bytes[position] == UInt8(ascii: "#") ? .requestFragment : .requestTarget)
        }
        self.target = targetStart..<position
        let version = position + 1
        guard version + 10 <= bytes.count else { throw .malformed(.requestVersion) }
        try self.readVersion(bytes, at: version)
        self.method = try RequestLine.method(bytes, 0..<methodEnd)
        return version + 10
    }

    /// Parses the version: a minor version above 1 counts as 1, other major versions are rejected.
    ///
    /// RFC 9110 §2.5 and §15.6.6.
    private mutating func readVersion(_ bytes: Span<UInt8>, at start: Int) throws(WireRejection) {
        var position = start
        for byte in "HTTP/".utf8 {
            guard bytes[position] == byte else { throw .malformed(.requestVersion) }
            position += 1
        }
        let (major, minor) = (bytes[start + 5], bytes[start + 7])
        guard ByteClass.isDigit(major), bytes[start + 6] == UInt8(ascii: "."), ByteClass.isDigit(minor) else {
            throw .malformed(.requestVersion)
        }
        guard bytes[start + 8] == 0x0D, bytes[start + 9] == 0x0A else { throw .malformed(.requestStartLine) }
        guard major == UInt8(ascii: "1") else { throw WireRejection(.requestVersionNotSupported) }
        self.minorVersion = minor == UInt8(ascii: "0") ? 0 : 1
    }

    static func method(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(WireRejection) -> RequestMethod {
        let first = range.lowerBound
        if range.count == 3, bytes[first] == UInt8(ascii: "G"), bytes[first + 1] == UInt8(ascii: "E"),
            bytes[first + 2] == UInt8(ascii: "T")
        {
            return .get
        }
        let text = String(decoding: range.map { bytes[$0] }, as: UTF8.self)
        if let method = RequestMethod(rawValue: text) { return method }
        guard RequestMethod.isForbidden(text) else { throw WireRejection(.requestMethodUnknown) }
        throw WireRejection(.requestMethodNotAllowed)
    }
}
