// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// One pass over a complete head.
struct RequestScan {
    let names: FieldNames
    let limits: HeadLimits
    let scheme: String
    private var line = RequestLine()
    private var fields: [FieldLine] = []

    init(names: FieldNames, limits: HeadLimits, scheme: String) {
        self.names = names
        self.limits = limits
        self.scheme = scheme
    }

    /// Reads the start line and all field lines; answers where the head ends.
    mutating func run(over bytes: Span<UInt8>) throws(WireRejection) -> Int? {
        guard let start = try self.line.read(bytes, limits: self.limits) else { return nil }
        let scanner = FieldScanner(names: self.names, limits: self.limits, isRequest: true, status: 400)
        self.fields.reserveCapacity(20)
        var position = start
        while true {
            switch try scanner.line(of: bytes, at: position) {
            case .more:
                return nil
            case .end(let end):
                guard end <= self.limits.bytes else { throw WireRejection(.wireHeadTooLarge) }
                return end
            case .folded:
                throw .malformed(.wireFieldName)
            case .field(let slot):
                guard self.fields.count < self.limits.fields else { throw WireRejection(.wireTooManyFields) }
                guard Int(slot.end) > position, Int(slot.end) <= self.limits.bytes else {
                    throw WireRejection(.wireHeadTooLarge)
                }
                self.fields.append(slot)
                position = Int(slot.end)
            }
        }
    }

    /// The checked head over the bytes that ``run(over:)`` read.
    func head(of bytes: ByteBuffer, known: inout CachedAuthority?) throws(WireRejection) -> RequestHead {
        var message = MessageHead(bytes: bytes, fields: self.fields)
        let census = try SingletonFields(of: message)
        if census.hasSeveralCookies {
            message = message.joiningCookies()
            guard message.fields.last.map({ $0.lineRange.count <= self.limits.fieldBytes }) ?? true else {
                throw WireRejection(.wireFieldTooLarge)
            }
        }
        let target = try RequestTarget(self.line, in: message, scheme: self.scheme)
        let found = try census.authority(of: message, known: known)
        if found !== known { known = found }
        guard target.agrees(with: found.authority, scheme: self.scheme) else {
            throw .malformed(.requestHostDiffersFromTarget)
        }
        let framing = try census.framing(of: message, minorVersion: self.line.minorVersion)
        return RequestHead(
            message: message,
            line: self.line,
            target: target,
            host: found,
            framing: framing,
            keepsAlive: census.keepsAlive(message, minorVersion: self.line.minorVersion),
            expectsContinue: try census.expectsContinue(message, minorVersion: self.line.minorVersion),
            hasIrregularNames: census.hasIrregularNames,
            hasLoopField: census.hasLoopField
        )
    }
}

/// The start line: method, target and version, each at its offset.
///
/// RFC 9112 §3.
struct RequestLine {
    /// The longest method, in bytes; registered ones have at most 17.
    static let maxMethodBytes = 32

    private(set) var method = RequestMethod.get
    private(set) var target = 0..<0
    /// Whether the target holds only what RFC 3986 allows.
    private(set) var isTargetPlain = true
    private(set) var minorVersion = 1

    /// A line that is still to be read.
    init() {}

    /// The line of a request that came without one.
    init(_ method: RequestMethod, target: Range<Int>, isTargetPlain: Bool) {
        self.method = method
        self.target = target
        self.isTargetPlain = isTargetPlain
    }

    /// Reads the line; answers where the next one starts, nil when the bytes run out.
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

    /// Any minor version of HTTP/1 above 1 is read as 1; other major versions are not spoken here.
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
        guard RequestMethod.isRefused(text) else { throw WireRejection(.requestMethodUnknown) }
        throw WireRejection(.requestMethodNotAllowed)
    }
}

/// What the target of the start line says.
///
/// RFC 9112 §3.2.
struct RequestTarget {
    let path: CanonicalPath
    let query: CanonicalQuery?
    let isAsterisk: Bool
    private let authority: (host: String, port: Int)?

    init(_ line: RequestLine, in message: MessageHead, scheme: String) throws(WireRejection) {
        let bytes = message.bytes.readableBytesUInt8Span
        var range = line.target
        self.isAsterisk = range.count == 1 && bytes[range.lowerBound] == UInt8(ascii: "*")
        guard !self.isAsterisk else {
            guard line.method == .options else { throw .malformed(.requestTarget) }
            (self.path, self.query, self.authority) = (.received(range.lowerBound..<range.lowerBound), nil, nil)
            return
        }
        if bytes[range.lowerBound] == UInt8(ascii: "/") {
            self.authority = nil
        } else {
            let absolute = try RequestTarget.absolute(message.text(range), scheme: scheme)
            self.authority = absolute.authority
            range = (range.lowerBound + absolute.length)..<range.upperBound
        }
        let mark = range.first { bytes[$0] == UInt8(ascii: "?") } ?? range.upperBound
        self.query =
            mark < range.upperBound
            ? CanonicalQuery(of: message, (mark + 1)..<range.upperBound, isPlain: line.isTargetPlain) : nil
        self.path = try RequestTarget.path(message, range.lowerBound..<mark, isPlain: line.isTargetPlain)
    }

    /// Whether an absolute target names the same site as the `Host` field.
    func agrees(with host: RequestAuthority, scheme: String) -> Bool {
        guard let authority else { return true }
        return authority.host == host.host && authority.port == (host.port ?? (scheme == "https" ? 443 : 80))
    }

    private static func path(
        _ message: MessageHead,
        _ range: Range<Int>,
        isPlain: Bool
    ) throws(WireRejection) -> CanonicalPath {
        guard !range.isEmpty else { return .rewritten([UInt8(ascii: "/")]) }
        guard !isPlain || !PathCanonicalizer.isCanonical(message.bytes.readableBytesUInt8Span, range) else {
            return .received(range)
        }
        let received = Array(message.slice(range))
        let canonical = try PathCanonicalizer.canonical(received)
        if let matched = PathCanonicalizer.matched(canonical) { return .spelled(canonical, matched: matched) }
        return canonical == received ? .received(range) : .rewritten(canonical)
    }

    /// The authority of an absolute target and how many bytes scheme and authority take.
    private static func absolute(
        _ text: String,
        scheme: String
    ) throws(WireRejection) -> (authority: (host: String, port: Int), length: Int) {
        let start = scheme + "://"
        guard text.lowercased().hasPrefix(start) else { throw .malformed(.requestTarget) }
        let rest = text.dropFirst(start.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let sides = WebURL.split(authority: authority),
            let origin = Origin(scheme: scheme, host: sides.host, port: sides.port)
        else { throw .malformed(.requestTarget) }
        return ((origin.host, origin.port), start.utf8.count + authority.utf8.count)
    }
}
