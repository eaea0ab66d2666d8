// SPDX-License-Identifier: Apache-2.0

import GateWire
import NIOCore

/// The messages in some bytes: their heads and bodies, and how parsing ended.
private struct ParseOutcome: Equatable {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var isRejected = false
    var left = 0
}

/// Requests: split or not they parse alike, and accepted ones cannot smuggle another.
enum RequestFuzzTarget {
    private struct Reader {
        var parser: RequestParser
        let limits: HeadLimits
        var body: BodyReader?
        var buffer = ByteBuffer()
        var outcome = ParseOutcome()
        var violation: String?

        mutating func read(_ bytes: ArraySlice<UInt8>) {
            guard !self.outcome.isRejected else { return }
            self.buffer.writeBytes(bytes)
            do {
                while self.violation == nil, try self.step() {}
            } catch {
                self.outcome.isRejected = true
                if !(400...599).contains(error.status) { self.violation = "a rejection has the status \(error.status)" }
            }
            self.outcome.left = self.outcome.isRejected ? 0 : self.buffer.readableBytes
        }

        private mutating func step() throws(WireRejection) -> Bool {
            guard self.body == nil else { return try self.stepInBody() }
            guard let head = try self.parser.head(from: &self.buffer) else { return false }
            self.outcome.heads.append("\(Rewriting.meaning(head)) \(head.minorVersion) \(head.keepsAlive)")
            self.outcome.bodies.append([])
            self.violation = Rewriting.violation(of: head, within: self.limits)
            self.body = BodyReader(head.framing, status: 400)
            return true
        }

        private mutating func stepInBody() throws(WireRejection) -> Bool {
            guard var reader = self.body else { return false }
            let part = try reader.next(from: &self.buffer)
            self.body = reader
            switch part {
            case .more: return false
            case .end: self.body = nil
            case .data(let data): self.outcome.bodies[self.outcome.bodies.count - 1] += Array(data.readableBytesView)
            }
            return true
        }
    }

    static func violation(in input: Input) -> String? {
        let limits = input.has(4) ? HeadLimits.tight : .request
        let parser = RequestParser(names: FieldNames(), limits: limits, isSecure: input.has(5))
        var whole = Reader(parser: parser, limits: limits)
        whole.read(input.bytes[...])
        if let violation = whole.violation { return violation }
        var split = Reader(parser: parser, limits: limits)
        for piece in input.pieces {
            split.read(piece)
        }
        return whole.outcome == split.outcome ? nil : "in one piece \(whole.outcome), in several \(split.outcome)"
    }
}

/// Responses: split or not they parse alike, and have one framing.
enum ResponseFuzzTarget {
    private struct Reader {
        let parser: ResponseParser
        let method: RequestMethod
        var body: BodyReader?
        var buffer = ByteBuffer()
        var outcome = ParseOutcome()
        var violation: String?

        mutating func read(_ bytes: ArraySlice<UInt8>) {
            guard !self.outcome.isRejected else { return }
            self.buffer.writeBytes(bytes)
            do {
                while self.violation == nil, try self.step() {}
            } catch {
                self.outcome.isRejected = true
                if error.status != 502 { self.violation = "a rejection has the status \(error.status)" }
            }
            self.outcome.left = self.outcome.isRejected ? 0 : self.buffer.readableBytes
        }

        private mutating func step() throws(WireRejection) -> Bool {
            if var reader = self.body {
                let part = try reader.next(from: &self.buffer)
                self.body = reader
                switch part {
                case .more: return false
                case .end: self.body = nil
                case .data(let data):
                    self.outcome.bodies[self.outcome.bodies.count - 1] += Array(data.readableBytesView)
                }
                return true
            }
            guard let head = try self.parser.head(from: &self.buffer, for: self.method) else { return false }
            // Two lengths that are the same are accepted (RFC 9112 §6.3), and one is forwarded.
            let lengths = Set(
                head.message.fields.filter { $0.name == .contentLength }.map { head.message.text($0.valueRange) }
            )
            let framings = lengths.count + head.message.count(.transferEncoding)
            if framings > 1 { self.violation = "a response has two framings" }
            self.outcome.heads.append("\(head.status) \(head.framing) \(head.keepsAlive) \(head.message.fields.count)")
            self.outcome.bodies.append([])
            self.body = BodyReader(head.framing, status: 502, lineEnd: head.lineEnd)
            return true
        }
    }

    static func violation(in input: Input) -> String? {
        let parser = ResponseParser(names: .response)
        let method: RequestMethod = input.has(4) ? .head : .get
        var whole = Reader(parser: parser, method: method)
        whole.read(input.bytes[...])
        if let violation = whole.violation { return violation }
        var split = Reader(parser: parser, method: method)
        for piece in input.pieces {
            split.read(piece)
        }
        return whole.outcome == split.outcome ? nil : "in one piece \(whole.outcome), in several \(split.outcome)"
    }
}

/// The chunks of a body: split or not they decode alike, and never to more bytes than received.
enum ChunkFuzzTarget {
    static func violation(in input: Input) -> String? {
        let status = input.has(4) ? 502 : 400
        let whole = self.outcome(of: [input.bytes[...]], status)
        guard whole.bodies.joined().count <= input.bytes.count else { return "more bytes were decoded than received" }
        let split = self.outcome(of: input.pieces, status)
        return whole == split ? nil : "in one piece \(whole), in several \(split)"
    }

    private static func outcome(of pieces: [ArraySlice<UInt8>], _ status: Int) -> ParseOutcome {
        var decoder = ChunkDecoder(status: status)
        var buffer = ByteBuffer()
        var outcome = ParseOutcome()
        var body: [UInt8] = []
        do {
            var isDone = false
            for piece in pieces {
                buffer.writeBytes(piece)
                var isMore = !isDone
                while isMore {
                    switch try decoder.next(from: &buffer) {
                    case .more: isMore = false
                    case .end: (isMore, isDone) = (false, true)
                    case .data(let data): body += Array(data.readableBytesView)
                    }
                }
            }
            outcome.heads = [isDone ? "done" : "open"]
            outcome.left = buffer.readableBytes
        } catch {
            outcome.isRejected = true
        }
        outcome.bodies = [body]
        return outcome
    }
}

/// The header of the PROXY protocol: no prefix of it parses differently from the whole.
enum ProxyProtocolFuzzTarget {
    static func violation(in input: Input) -> String? {
        let bytes = Array(input.bytes.prefix(600))
        let whole = self.reading(bytes)
        var isFinal = false
        var length = 0
        for piece in Input(seed: input.seed, bytes: bytes).pieces {
            length += piece.count
            let part = self.reading(Array(bytes.prefix(length)))
            if isFinal || part != "incomplete" {
                isFinal = true
                guard part == whole else { return "\(length) bytes are \(part), all are \(whole)" }
            }
        }
        return isFinal || whole == "incomplete" ? nil : "all are \(whole), the pieces are incomplete"
    }

    private static func reading(_ bytes: [UInt8]) -> String {
        do {
            guard let header = try ProxyProtocolHeader.read(bytes.span) else { return "incomplete" }
            guard header.length <= bytes.count else { return "longer than its bytes" }
            return "\(header.length) \(header.source.map { "\($0)" } ?? "no client IP")"
        } catch {
            return "rejected"
        }
    }
}
