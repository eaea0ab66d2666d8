// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Writes heads from checked field lines; adjacent lines that are kept are copied at once.
package struct HeadWriter: Sendable {
    /// The head so far.
    package var buffer: ByteBuffer

    /// Starts a head in a buffer of sufficient capacity.
    package init(into buffer: consuming ByteBuffer) {
        self.buffer = buffer
    }

    /// Writes the request line with the canonical path, without a prefix of whole segments.
    ///
    /// RFC 9112 §3.
    package mutating func writeRequestLine(of head: RequestHead, droppingPrefix length: Int = 0) {
        self.buffer.writeString(head.method.rawValue)
        if head.isAsterisk {
            self.buffer.writeLiteral(" *")
        } else {
            self.buffer.writeLiteral(" ")
            head.path.write(of: head.message, droppingPrefix: length, to: &self.buffer)
            if let query = head.query {
                self.buffer.writeLiteral("?")
                query.write(of: head.message, to: &self.buffer)
            }
        }
        self.buffer.writeLiteral(" HTTP/1.1\r\n")
    }

    /// Writes the status line with the registered reason phrase.
    package mutating func writeStatusLine(_ status: Int) {
        guard status != 200 else {
            self.buffer.writeLiteral("HTTP/1.1 200 OK\r\n")
            return
        }
        self.buffer.writeString("HTTP/1.1 \(status) \(reasonPhrase(status))\r\n")
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
        self.buffer.writeFieldLine(name, value)
    }

    /// Writes the one framing line of a message.
    package mutating func writeFraming(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let length): self.writeLine("Content-Length", String(length))
        case .chunked: self.buffer.writeLiteral("Transfer-Encoding: chunked\r\n")
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
        self.buffer.writeLiteral("Content-Length: 0\r\n")
    }

    /// Ends the head and returns it; afterwards the writer is empty.
    ///
    /// Not `consuming`: a copy of the writer could remain, and the write would copy all bytes.
    package mutating func finish() -> ByteBuffer {
        self.buffer.writeLiteral("\r\n")
        defer { self.buffer = ByteBuffer() }
        return self.buffer
    }

    /// Copies checked bytes of a head.
    package mutating func copy(_ range: Range<Int>, of message: MessageHead) {
        guard !range.isEmpty else { return }
        self.buffer.writeBytes(message.bytes.readableBytesSpan.extracting(range))
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
