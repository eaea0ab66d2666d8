// SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Compresses what is served many times, once.
///
/// Pages are not compressed: beside secrets they have text of the request, whose size would then show something of the secrets.
enum Gzip {
    /// Bytes as a gzip member, RFC 1952; nil if they do not become shorter, or without memory.
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = unsafe z_stream()
        // The largest window, and 16 for the format.
        let window = MAX_WBITS + 16
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        guard
            unsafe deflateInit2_(
                &stream,
                Z_BEST_COMPRESSION,
                Z_DEFLATED,
                window,
                8,
                Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                size
            ) == Z_OK
        else { return nil }
        defer { unsafe deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: bytes.count)
        var input = bytes
        let written = unsafe input.withUnsafeMutableBufferPointer { input -> Int? in
            unsafe output.withUnsafeMutableBufferPointer { output -> Int? in
                unsafe stream.next_in = input.baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                guard unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END else { return nil }
                return unsafe output.count - Int(stream.avail_out)
            }
        }
        return written.map { Array(output.prefix($0)) }
    }
}
