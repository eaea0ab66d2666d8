// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// The pass over a complete request head.
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

    /// Parses the start line and all field lines.
    ///
    /// - Returns: Where the head ends; nil when more bytes are needed.
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
            case .field(let field):
                guard self.fields.count < self.limits.fields else { throw WireRejection(.wireTooManyFields) }
                guard Int(field.end) > position, Int(field.end) <= self.limits.bytes else {
                    throw WireRejection(.wireHeadTooLarge)
                }
                self.fields.append(field)
                position = Int(field.end)
            }
        }
    }

    /// The checked head over the bytes that ``run(over:)`` parsed.
    func head(of bytes: ByteBuffer, known: inout RequestAuthority?) throws(WireRejection) -> RequestHead {
        var message = MessageHead(bytes: bytes, fields: self.fields)
        let singletons = try SingletonFields(of: message)
        if singletons.hasSeveralCookies {
            message = message.joiningCookies()
            guard message.fields.last.map({ $0.lineRange.count <= self.limits.fieldBytes }) ?? true else {
                throw WireRejection(.wireFieldTooLarge)
            }
        }
        let target = try RequestTarget(self.line, in: message, scheme: self.scheme)
        let found: RequestAuthority
        do throws(WireRejection) {
            found = try singletons.authority(of: message, known: known)
        } catch {
            var rejection = error
            if error.reason == .requestNoHost, self.line.minorVersion == 0, self.line.method.isSafe {
                rejection.pathWithoutHost = target.path.text(in: message)
            }
            throw rejection
        }
        if found !== known { known = found }
        guard target.agrees(with: found, scheme: self.scheme) else {
            throw .malformed(.requestHostDiffersFromTarget)
        }
        let framing = try singletons.framing(of: message, minorVersion: self.line.minorVersion)
        return RequestHead(
            message: message,
            line: self.line,
            target: target,
            authority: found,
            framing: framing,
            keepsAlive: singletons.keepsAlive(message, minorVersion: self.line.minorVersion),
            expectsContinue: try singletons.expectsContinue(message, minorVersion: self.line.minorVersion),
            hasIrregularNames: singletons.hasIrregularNames,
            hasLoopField: singletons.hasLoopField
        )
    }
}
