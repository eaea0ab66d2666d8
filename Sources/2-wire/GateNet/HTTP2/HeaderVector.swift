// SPDX-License-Identifier: Apache-2.0

package import CNGHTTP2
internal import GateWire
package import NIOCore

/// The fields of a head in the form of libnghttp2; reused for each head.
///
/// The C structures point into the head's bytes and are valid for one call, in which libnghttp2 copies what it keeps
/// and lower-cases names.
@safe package struct HeaderVector {
    private var fields = unsafe [nghttp2_nv]()

    package init() {}

    /// Lends the fields of a response: the status, then all lines that HTTP/2 may carry.
    ///
    /// - Parameters:
    ///   - head: A complete head as a `HeadWriter` writes it.
    ///   - body: Passes the fields to libnghttp2; its last argument is where the head ends.
    /// - Returns: What `body` returns.
    package mutating func withResponse<Value>(
        _ head: ByteBuffer,
        _ body: (UnsafePointer<nghttp2_nv>?, Int, _ end: Int) -> Value
    ) -> Value {
        unsafe head.withUnsafeReadableBytes { raw in
            let bytes = unsafe raw.bindMemory(to: UInt8.self)
            let start = unsafe FieldLineReader.lineEnd(bytes.span, from: 0) + 2
            unsafe self.fields.removeAll(keepingCapacity: true)
            if bytes.count >= 12 { unsafe self.append(":status", bytes, 9..<12) }
            let end = unsafe self.appendLines(bytes, from: start)
            return unsafe self.fields.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count, end) }
        }
    }

    /// Lends the fields of a request: the pseudo-fields, then all lines that HTTP/2 may carry, without `Host`.
    ///
    /// - Parameters:
    ///   - head: A complete head as a `HeadWriter` writes it.
    ///   - isSecure: Whether the scheme is `https`.
    ///   - body: Passes the fields to libnghttp2.
    /// - Returns: What `body` returns.
    package mutating func withRequest<Value>(
        _ head: ByteBuffer,
        isSecure: Bool,
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Value
    ) -> Value {
        unsafe head.withUnsafeReadableBytes { raw in
            let bytes = unsafe raw.bindMemory(to: UInt8.self)
            let lineEnd = unsafe FieldLineReader.lineEnd(bytes.span, from: 0)
            let methodEnd = unsafe bytes[..<lineEnd].firstIndex(of: 0x20) ?? lineEnd
            let targetEnd = unsafe bytes[..<lineEnd].lastIndex(of: 0x20) ?? lineEnd
            unsafe self.fields.removeAll(keepingCapacity: true)
            unsafe self.append(":method", bytes, 0..<methodEnd)
            self.append(":scheme", isSecure ? "https" : "http")
            unsafe self.append(":path", bytes, min(methodEnd + 1, targetEnd)..<targetEnd)
            _ = unsafe self.appendLines(bytes, from: lineEnd + 2, hostBecomes: ":authority")
            return unsafe self.fields.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count) }
        }
    }

    /// Lends the fields of a trailer section: lines as in a head, and an empty line.
    package mutating func withTrailers<Value>(
        _ lines: ByteBuffer,
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Value
    ) -> Value {
        unsafe lines.withUnsafeReadableBytes { raw in
            let bytes = unsafe raw.bindMemory(to: UInt8.self)
            unsafe self.fields.removeAll(keepingCapacity: true)
            _ = unsafe self.appendLines(bytes, from: 0)
            return unsafe self.fields.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count) }
        }
    }
}

extension HeaderVector {
    /// Adds the lines from `start` on and returns where the head ends.
    ///
    /// The authority must precede all fields that are not pseudo-fields.
    private mutating func appendLines(
        _ bytes: UnsafeBufferPointer<UInt8>,
        from start: Int,
        hostBecomes authority: StaticString? = nil
    ) -> Int {
        let early = unsafe self.fields.count
        return unsafe FieldLineReader.forEach(of: bytes.span, from: start) { line in
            if let authority, unsafe FieldLineReader.isNamed(bytes.span, line.name, "host") {
                let field = unsafe HeaderVector.field(authority, bytes, line.value)
                unsafe self.fields.insert(field, at: early)
                return
            }
            guard let base = bytes.baseAddress else { return }
            unsafe self.fields.append(
                nghttp2_nv(
                    name: UnsafeMutablePointer(mutating: base + line.name.lowerBound),
                    value: UnsafeMutablePointer(mutating: base + line.value.lowerBound),
                    namelen: line.name.count,
                    valuelen: line.value.count,
                    flags: 0
                )
            )
        }
    }

    private mutating func append(_ name: StaticString, _ bytes: UnsafeBufferPointer<UInt8>, _ value: Range<Int>) {
        unsafe self.fields.append(HeaderVector.field(name, bytes, value))
    }

    private mutating func append(_ name: StaticString, _ value: StaticString) {
        let bytes = unsafe UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount)
        unsafe self.append(name, bytes, 0..<bytes.count)
    }

    private static func field(
        _ name: StaticString,
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ value: Range<Int>
    ) -> nghttp2_nv {
        unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: UnsafeMutablePointer(mutating: bytes.baseAddress.map { unsafe $0 + value.lowerBound }),
            namelen: name.utf8CodeUnitCount,
            valuelen: value.count,
            flags: 0
        )
    }
}
