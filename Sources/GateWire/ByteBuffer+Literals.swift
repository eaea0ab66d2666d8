// SPDX-License-Identifier: Apache-2.0

package import NIOCore

// A head has some twenty short pieces, and SwiftNIO's functions for static strings cost several times what copying such a
// piece does, because they are made for collections of any kind.
extension ByteBuffer {
    /// Appends a literal.
    package mutating func writeLiteral(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
            return count
        }
    }

    /// Appends a field line with a trusted or checked name and value.
    package mutating func writeFieldLine(_ name: StaticString, _ value: String) {
        var value = value
        value.withUTF8 { bytes in
            let (start, length) = (name.utf8CodeUnitCount, bytes.count)
            let count = start + 2 + length + 2
            unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: name.utf8Start, count: start))
                unsafe target.storeBytes(of: UInt16(0x203A).littleEndian, toByteOffset: start, as: UInt16.self)
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[(start + 2)...]).copyMemory(
                    from: UnsafeRawBufferPointer(bytes)
                )
                unsafe target.storeBytes(of: UInt16(0x0A0D).littleEndian, toByteOffset: count - 2, as: UInt16.self)
                return count
            }
        }
    }
}
