// SPDX-License-Identifier: Apache-2.0

import GateWire
import NIOCore

/// What became of the messages in some bytes: their heads and bodies, and how it ended.
private struct ParseOutcome: Equatable {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var isRefused = false
    var left = 0
}

/// Requests: in pieces they are the same as in one, and what is accepted cannot be smuggled.
enum RequestFuzzTarget {
    private struct Reader {
        var parser: RequestParser
        let limits: HeadLimits
        var body: BodyReader?
        var buffer = ByteBuffer()
        var story = ParseOutcome()
        var fault: String?

        mutating func read(_ bytes: ArraySlice<UInt8>) {
            guard !self.story.isRefused else { return }
            self.buffer.writeBytes(bytes)
            do {
                while self.fault == nil, try self.step() {}
            } catch {
                self.story.isRefused = true
                if !(400...599).contains(error.status) { self.fault = "a refusal has the status \(error.status)" }
            }
            self.story.left = self.story.isRefused ? 0 : self.buffer.readableBytes
        }

        private mutating func step() throws(WireRejection) -> Bool {
            guard self.body == nil else { return try self.stepInBody() }
            guard let head = try self.parser.head(from: &self.buffer) else { return false }
            self.story.heads.append("\(Rewriting.meaning(head)) \(head.minorVersion) \(head.keepsAlive)")
            self.story.bodies.append([])
            self.fault = Rewriting.fault(of: head, within: self.limits)
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
            case .data(let data): self.story.bodies[self.story.bodies.count - 1] += Array(data.readableBytesView)
            }
            return true
        }
    }

    static func fault(in input: Input) -> String? {
        let limits = input.has(4) ? HeadLimits.tight : .request
        let parser = RequestParser(names: FieldNames(), limits: limits, isSecure: input.has(5))
        var whole = Reader(parser: parser, limits: limits)
        whole.read(input.bytes[...])
        if let fault = whole.fault { return fault }
        var split = Reader(parser: parser, limits: limits)
        for piece in input.pieces {
            split.read(piece)
        }
        return whole.story == split.story ? nil : "in one piece \(whole.story), in several \(split.story)"
    }
}

/// Answers of upstreams: in pieces they are the same as in one, and have one framing.
enum ResponseFuzzTarget {
    private struct Reader {
        let parser: ResponseParser
        let method: RequestMethod
        var body: BodyReader?
        var buffer = ByteBuffer()
        var story = ParseOutcome()
        var fault: String?

        mutating func read(_ bytes: ArraySlice<UInt8>) {
            guard !self.story.isRefused else { return }
            self.buffer.writeBytes(bytes)
            do {
                while self.fault == nil, try self.step() {}
            } catch {
                self.story.isRefused = true
                if error.status != 502 { self.fault = "a refusal has the status \(error.status)" }
            }
            self.story.left = self.story.isRefused ? 0 : self.buffer.readableBytes
        }

        private mutating func step() throws(WireRejection) -> Bool {
            if var reader = self.body {
                let part = try reader.next(from: &self.buffer)
                self.body = reader
                switch part {
                case .more: return false
                case .end: self.body = nil
                case .data(let data): self.story.bodies[self.story.bodies.count - 1] += Array(data.readableBytesView)
                }
                return true
            }
            guard let head = try self.parser.head(from: &self.buffer, answering: self.method) else { return false }
            let framings = head.message.count(.contentLength) + head.message.count(.transferEncoding)
            if framings > 1 { self.fault = "an answer has two framings" }
            self.story.heads.append("\(head.status) \(head.framing) \(head.keepsAlive) \(head.message.fields.count)")
            self.story.bodies.append([])
            self.body = BodyReader(head.framing, status: 502)
            return true
        }
    }

    static func fault(in input: Input) -> String? {
        let parser = ResponseParser(names: .answers)
        let method: RequestMethod = input.has(4) ? .head : .get
        var whole = Reader(parser: parser, method: method)
        whole.read(input.bytes[...])
        if let fault = whole.fault { return fault }
        var split = Reader(parser: parser, method: method)
        for piece in input.pieces {
            split.read(piece)
        }
        return whole.story == split.story ? nil : "in one piece \(whole.story), in several \(split.story)"
    }
}

/// The chunks of a body: in pieces they are the same as in one, and never more than came.
enum ChunkFuzzTarget {
    static func fault(in input: Input) -> String? {
        let status = input.has(4) ? 502 : 400
        let whole = self.story(of: [input.bytes[...]], status)
        guard whole.bodies.joined().count <= input.bytes.count else { return "more came out than went in" }
        let split = self.story(of: input.pieces, status)
        return whole == split ? nil : "in one piece \(whole), in several \(split)"
    }

    private static func story(of pieces: [ArraySlice<UInt8>], _ status: Int) -> ParseOutcome {
        var decoder = ChunkDecoder(status: status)
        var buffer = ByteBuffer()
        var story = ParseOutcome()
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
            story.heads = [isDone ? "done" : "open"]
            story.left = buffer.readableBytes
        } catch {
            story.isRefused = true
        }
        story.bodies = [body]
        return story
    }
}

/// The header of the PROXY protocol: no beginning of it is read otherwise than the whole.
enum ProxyProtocolFuzzTarget {
    static func fault(in input: Input) -> String? {
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
            return "\(header.length) \(header.source.map { "\($0)" } ?? "nobody")"
        } catch {
            return "refused"
        }
    }
}
