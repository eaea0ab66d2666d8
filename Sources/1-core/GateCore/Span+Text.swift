// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension Span<UInt8> {
    /// Whether the bytes begin with those of a text.
    package func starts(with text: String) -> Bool {
        unsafe text.utf8Span.span.withUnsafeBufferPointer { wanted in
            guard wanted.count <= self.count, let start = wanted.baseAddress else { return wanted.isEmpty }
            return unsafe self.withUnsafeBufferPointer { bytes in
                guard let own = bytes.baseAddress else { return wanted.isEmpty }
                return unsafe memcmp(own, start, wanted.count) == 0
            }
        }
    }

    /// Whether the bytes are exactly those of a text.
    package func spells(_ text: String) -> Bool {
        self.count == text.utf8.count && self.starts(with: text)
    }

    /// The eight bytes at a position, the first in the highest byte.
    package func word(at position: Int) -> UInt64 {
        unsafe UInt64(bigEndian: self.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// The position of a byte at or after another position; the end if the byte does not occur.
    ///
    /// It costs a fraction of a loop over the bytes, which counts for cookies: they are the longest part of most requests.
    package func position(of byte: UInt8, from start: Int = 0) -> Int {
        unsafe self.withUnsafeBufferPointer { bytes in
            guard start >= 0, start < bytes.count, let own = bytes.baseAddress,
                let found = unsafe memchr(own + start, Int32(byte), bytes.count - start)
            else { return bytes.count }
            return unsafe UnsafeRawPointer(own).distance(to: UnsafeRawPointer(found))
        }
    }
}
