// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// The singleton fields of a request (RFC 9110 §5.5), from which host, framing and persistence follow.
struct SingletonFields {
    private var host: FieldLine?
    private var length: FieldLine?
    private var coding: FieldLine?
    private var expectation: FieldLine?
    private var hasConnection = false
    /// Whether a proxy has added `CDN-Loop`.
    private(set) var hasLoopField = false
    /// Whether the cookies are in several fields, which are joined.
    ///
    /// RFC 6265 §5.4 requires one, but some clients and load balancers send several.
    private(set) var hasSeveralCookies = false
    /// Whether a field has a name with `_`, `.` or another character that is not a letter, digit or `-`.
    private(set) var hasIrregularNames = false

    /// Checks every field once.
    ///
    /// - Throws: 400 when a singleton field is repeated, or has bytes that it must not have.
    init(of message: MessageHead) throws(WireRejection) {
        var seen: UInt64 = 0
        for field in message.fields {
            let bit: UInt64 = 1 << UInt64(field.name.rawValue)
            let repeated = seen & bit != 0
            seen |= bit
            switch field.name {
            case .other, .managed, .accept: continue
            case .irregular, .disguised:
                self.hasIrregularNames = true
                continue
            case .host: self.host = field
            case .contentLength: self.length = field
            case .transferEncoding: self.coding = field
            case .expect: self.expectation = field
            case .connection: self.hasConnection = true
            case .cdnLoop: self.hasLoopField = true
            case .authorization, .content, .contentType: try SingletonFields.rejectHighBytes(field, in: message)
            default: break
            }
            guard repeated else { continue }
            switch field.name {
            case .host: throw .malformed(.requestRepeatedHost)
            case .contentLength: throw .malformed(.framingRepeatedLength)
            case .transferEncoding: throw .malformed(.framingRepeatedCoding)
            case .cookie: self.hasSeveralCookies = true
            case .authorization, .expect, .origin, .secFetchMode, .secFetchSite:
                throw .malformed(.requestRepeatedField)
            default: continue
            }
        }
    }

    /// The `Host` field; `known` is that of an earlier request of the connection.
    ///
    /// RFC 9112 §3.2.
    func authority(of message: MessageHead, known: RequestAuthority?) throws(WireRejection) -> RequestAuthority {
        guard let field = self.host else { throw .malformed(.requestNoHost) }
        let raw = message.bytes.readableBytesUInt8Span.extracting(field.valueRange)
        if let known, known.isSpelled(raw) { return known }
        guard let authority = RequestAuthority(message.slice(field.valueRange)) else { throw .malformed(.requestHost) }
        return authority
    }

    /// The framing of the body.
    ///
    /// RFC 9112 §6.3, with every ambiguous case rejected.
    func framing(of message: MessageHead, minorVersion: Int) throws(WireRejection) -> BodyFraming {
        if let coding {
            guard self.length == nil else { throw .malformed(.framingLengthAndCoding) }
            guard minorVersion == 1 else { throw .malformed(.framingCodingInHTTP10) }
            // A tab next to the word is legal, but some servers take it for a part of the word.
            let hasTab = message.slice(coding.lineRange).contains(0x09)
            guard !hasTab, message.spells(coding.valueRange, "chunked") else { throw .malformed(.framingCoding) }
            return .chunked
        }
        guard let length else { return .none }
        guard let value = contentLength(in: message, length.valueRange) else { throw .malformed(.framingLength) }
        return value == 0 ? .none : .length(value)
    }

    /// Whether the connection is kept open: with HTTP/1.1 unless the client sends `close`, with HTTP/1.0 never.
    ///
    /// RFC 9112 §9.3.
    func keepsAlive(_ message: MessageHead, minorVersion: Int) -> Bool {
        guard minorVersion == 1 else { return false }
        return !self.hasConnection || !message.hasConnectionOption("close")
    }

    /// Whether the client waits for `100 Continue`.
    ///
    /// RFC 9110 §10.1.1.
    ///
    /// - Throws: 417 for any other expectation.
    func expectsContinue(_ message: MessageHead, minorVersion: Int) throws(WireRejection) -> Bool {
        guard let field = self.expectation else { return false }
        guard message.spells(field.valueRange, "100-continue") else { throw WireRejection(.requestExpectation) }
        return minorVersion == 1
    }

    private static func rejectHighBytes(_ field: FieldLine, in message: MessageHead) throws(WireRejection) {
        let value = message.bytes.readableBytesUInt8Span.extracting(field.valueRange)
        guard FieldScanner.isASCII(value) else { throw .malformed(.wireFieldValue) }
    }
}

/// A length as digits only, without leading zeros, within 63 bits; nil for anything else.
///
/// RFC 9110 §8.6.
func contentLength(in message: MessageHead, _ range: Range<Int>) -> Int64? {
    let digits = message.slice(range)
    guard (1...19).contains(digits.count), digits.allSatisfy(ByteClass.isDigit) else { return nil }
    guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
    return Int64(String(decoding: digits, as: UTF8.self))
}
