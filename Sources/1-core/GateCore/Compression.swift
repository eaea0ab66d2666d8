// SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Compresses bytes with zlib.
///
/// Not for text that has a secret beside text of another client: the size would show something of the secret.
package enum Compression {
    /// What surrounds the compressed bytes.
    package enum Format {
        /// A gzip member, RFC 1952.
        case gzip
        /// Nothing, RFC 1951.
        case raw

        /// The largest window in the way that zlib spells the format.
        fileprivate var window: Int32 {
            switch self {
            case .gzip: MAX_WBITS + 16
            case .raw: -MAX_WBITS
            }
        }
    }

    private static let streamSize = unsafe Int32(MemoryLayout<z_stream>.size)

    /// Compresses bytes; nil if they do not become shorter, or without memory.
    package static func compress(_ bytes: [UInt8], as format: Format) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard
            unsafe deflateInit2_(
                &stream,
                Z_BEST_COMPRESSION,
                Z_DEFLATED,
                format.window,
                8,
                Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                self.streamSize
            ) == Z_OK
        else { return nil }
        defer { unsafe deflateEnd(&stream) }
        return unsafe self.output(of: &stream, reading: bytes, capacity: bytes.count) { stream in
            unsafe deflate(stream, Z_FINISH)
        }
    }

    /// The bytes that ``compress(_:as:)`` made shorter without a surrounding; nil for any other, and for more than `limit` bytes.
    package static func expand(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        var stream = unsafe z_stream()
        let window = Format.raw.window
        guard unsafe inflateInit2_(&stream, window, ZLIB_VERSION, self.streamSize) == Z_OK else { return nil }
        defer { unsafe inflateEnd(&stream) }
        return unsafe self.output(of: &stream, reading: bytes, capacity: limit) { stream in
            unsafe inflate(stream, Z_FINISH)
        }
    }

    /// What one step makes of all the input; nil if it does not end in the capacity.
    private static func output(
        of stream: UnsafeMutablePointer<z_stream>,
        reading bytes: [UInt8],
        capacity: Int,
        _ step: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: capacity)
        var input = bytes
        let written = unsafe input.withUnsafeMutableBufferPointer { input -> Int? in
            unsafe output.withUnsafeMutableBufferPointer { output -> Int? in
                unsafe stream.pointee.next_in = input.baseAddress
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                guard unsafe step(stream) == Z_STREAM_END else { return nil }
                return unsafe output.count - Int(stream.pointee.avail_out)
            }
        }
        return written.map { Array(output.prefix($0)) }
    }
}
