// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Writes heads from checked lines: lines that are kept go over as they came, neighbours in one copy.
package struct HeadWriter: Sendable {
    /// The head so far.
    package var buffer: ByteBuffer

    /// Starts a head in a buffer that has room for it.
    package init(into buffer: consuming ByteBuffer) {
        self.buffer = buffer
    }

    /// Writes the request line with the canonical path, or with what is left of it behind a prefix of whole segments.
    ///
    /// RFC 9112 §3.
    package mutating func writeRequestLine(of head: RequestHead, droppingPrefix length: Int = 0) {
        self.buffer.writeString(head.method.rawValue)
        if head.isAsterisk {
            self.buffer.writeStaticString(" *")
        } else {
            self.buffer.writeStaticString(" ")
            head.path.write(of: head.message, droppingPrefix: length, to: &self.buffer)
            if let query = head.query {
                self.buffer.writeStaticString("?")
                self.copy(query, of: head.message)
            }
        }
        self.buffer.writeStaticString(" HTTP/1.1\r\n")
    }

    /// Writes the status line; the reason phrase is ours.
    package mutating func writeStatusLine(_ status: Int) {
        guard status != 200 else {
            self.buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
            return
        }
        self.buffer.writeString("HTTP/1.1 \(status) \(reasonPhrase(status))\r\n")
    }

    /// Copies the lines of a head that `isKept` wants.
    package mutating func copyLines(of message: MessageHead, where isKept: (FieldSlot) -> Bool) {
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

    /// Writes one line; name and value are ours or checked.
    package mutating func writeLine(_ name: StaticString, _ value: String) {
        self.buffer.writeStaticString(name)
        self.buffer.writeStaticString(": ")
        self.buffer.writeString(value)
        self.buffer.writeStaticString("\r\n")
    }

    /// Writes the one framing line of a message.
    package mutating func writeFraming(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let length): self.writeLine("Content-Length", String(length))
        case .chunked: self.buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
    }

    /// Writes the framing line of a request; without a body, methods that usually have one say so.
    ///
    /// RFC 9110 §8.6.
    package mutating func writeFraming(ofRequest head: RequestHead) {
        guard head.framing == .none, !head.method.isSafe, head.method != .delete else {
            self.writeFraming(head.framing)
            return
        }
        self.buffer.writeStaticString("Content-Length: 0\r\n")
    }

    /// Ends the head and hands it out; the writer is empty then.
    ///
    /// Not consuming: a copy of the writer could be left behind, and the write would copy all bytes.
    package mutating func finish() -> ByteBuffer {
        self.buffer.writeStaticString("\r\n")
        defer { self.buffer = ByteBuffer() }
        return self.buffer
    }

    /// Copies checked bytes of a head.
    package mutating func copy(_ range: Range<Int>, of message: MessageHead) {
        guard !range.isEmpty else { return }
        self.buffer.writeBytes(message.bytes.readableBytesSpan.extracting(range))
    }
}

/// The reason phrase of a status, for people with a packet trace.
///
/// RFC 9110 §15.
package func reasonPhrase(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 103: "Early Hints"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 508: "Loop Detected"
    default: "Status"
    }
}
