// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Writes heads from checked field lines; adjacent lines that are kept are copied at once.
///
/// A head has some twenty short pieces. They go to the free capacity of a `ByteBuffer`, whose storage is checked once for the
/// whole head: a check for each piece costs several times what copying the piece does.
@safe package struct HeadWriter: ~Copyable {
    private let target: UnsafeMutableRawBufferPointer
    /// The length so far; what exceeds the target is only counted.
    private var count = 0

    private init(into target: UnsafeMutableRawBufferPointer) {
        unsafe self.target = target
    }

    /// Appends a head to a buffer.
    ///
    /// - Parameters:
    ///   - buffer: The buffer. A head that does not fit is written once more, after the buffer was enlarged.
    ///   - write: Writes the lines, the same ones if it is called again.
    /// - Returns: The buffer with the lines and the empty line that ends them.
    package static func head(into buffer: consuming ByteBuffer, _ write: (inout HeadWriter) -> Void) -> ByteBuffer {
        var buffer = buffer
        var needed = max(buffer.writableBytes, 256)
        while true {
            var count = 0
            let written = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: needed) { target in
                var writer = unsafe HeadWriter(into: target)
                write(&writer)
                writer.writeLiteral("\r\n")
                count = writer.count
                return count <= target.count ? count : 0
            }
            guard written < count else { return buffer }
            needed = count
        }
    }
}

// MARK: Lines
extension HeadWriter {
    /// Writes the request line with the canonical path, as an app gets it.
    ///
    /// RFC 9112 §3.
    package mutating func writeRequestLine(of head: RequestHead, mappedBy mapping: PathMapping? = nil) {
        self.write(head.method.rawValue)
        if head.isAsterisk {
            self.writeLiteral(" *")
        } else {
            self.writeLiteral(" ")
            head.path.forEachPart(of: head.message, mappedBy: mapping) { unsafe self.write($0.bytes) }
            if let query = head.query {
                self.writeLiteral("?")
                query.withSpan(of: head.message) { unsafe self.write($0.bytes) }
            }
        }
        self.writeLiteral(" HTTP/1.1\r\n")
    }

    /// Writes the status line with the registered reason phrase.
    package mutating func writeStatusLine(_ status: Int) {
        guard status != 200 else {
            self.writeLiteral("HTTP/1.1 200 OK\r\n")
            return
        }
        self.write("HTTP/1.1 \(status) \(reasonPhrase(status))\r\n")
    }

    /// Writes the status line of a response of an upstream, with its reason phrase.
    ///
    /// RFC 9112 §4.
    package mutating func writeStatusLine(of head: ResponseHead) {
        guard !head.reason.isEmpty else { return self.writeStatusLine(head.status) }
        self.writeLiteral("HTTP/1.1 ")
        // With the line end, since a head is written with CRLF whatever was received.
        self.copy(StatusLine.statusStart..<(head.reason.upperBound + 2), of: head.message)
    }

    /// Copies the field lines of a head for which `isKept` returns true.
    package mutating func copyLines(of message: MessageHead, where isKept: (FieldLine) -> Bool) {
        var run = 0..<0
        for field in message.fields where isKept(field) {
            let line = field.lineRange
            if run.upperBound == line.lowerBound {
                run = run.lowerBound..<line.upperBound
            } else {
                self.copy(run, of: message)
                run = line
            }
        }
        self.copy(run, of: message)
    }

    /// Writes one field line with a trusted or checked name and value.
    package mutating func writeLine(_ name: StaticString, _ value: String) {
        self.writeLiteral(name)
        self.writeLiteral(": ")
        self.write(value)
        self.writeLiteral("\r\n")
    }

    /// Writes the one framing line of a message.
    package mutating func writeFraming(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let length): self.writeLine("Content-Length", String(length))
        case .chunked: self.writeLiteral("Transfer-Encoding: chunked\r\n")
        }
    }

    /// Writes the framing line of a request; `Content-Length: 0` for methods that usually have a body.
    ///
    /// RFC 9110 §8.6.
    package mutating func writeFraming(ofRequest head: RequestHead) {
        guard head.framing == .none, head.method.usuallyHasBody else {
            self.writeFraming(head.framing)
            return
        }
        self.writeLiteral("Content-Length: 0\r\n")
    }
}

// MARK: Pieces
extension HeadWriter {
    package mutating func writeLiteral(_ text: StaticString) {
        unsafe self.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes trusted or checked text.
    package mutating func write(_ text: String) {
        unsafe self.write(text.utf8Span.span.bytes)
    }

    /// Writes trusted or checked bytes.
    package mutating func write(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe self.append($0) }
    }

    /// Writes complete field lines.
    package mutating func write(_ lines: ByteBuffer) {
        self.write(lines.readableBytesSpan)
    }

    /// Copies checked bytes of a head.
    package mutating func copy(_ range: Range<Int>, of message: MessageHead) {
        guard !range.isEmpty else { return }
        self.write(message.bytes.readableBytesSpan.extracting(range))
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let end = self.count + bytes.count
        if unsafe end <= self.target.count, let source = bytes.baseAddress, let start = unsafe self.target.baseAddress {
            unsafe (start + self.count).copyMemory(from: source, byteCount: bytes.count)
        }
        self.count = end
    }
}

/// The registered reason phrase of a status; empty if absent.
///
/// RFC 9110 §15, RFC 9112 §4 and the IANA registry of status codes.
package func reasonPhrase(_ status: Int) -> String { reasonPhrases[status] ?? "" }

private let reasonPhrases = [
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
    200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
    205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
    300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
    409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
    421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
    426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
    507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
]
