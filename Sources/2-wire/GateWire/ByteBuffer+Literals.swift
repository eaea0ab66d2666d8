// SPDX-License-Identifier: Apache-2.0

package import NIOCore

// SwiftNIO's functions for static strings cost several times what copying such a short piece does, because they are made for
// collections of any kind.
extension ByteBuffer {
    /// Appends a literal.
    package mutating func writeLiteral(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
            return count
        }
    }
}
