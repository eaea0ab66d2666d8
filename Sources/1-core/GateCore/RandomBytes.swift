// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Makes unpredictable bytes; passed in, so that a test can fix them.
package struct RandomBytes: Sendable {
    private let make: @Sendable (Int) -> [UInt8]

    /// A source that calls `make` with the number of bytes wanted.
    package init(_ make: @escaping @Sendable (Int) -> [UInt8]) {
        self.make = make
    }

    /// `count` fresh bytes.
    package func bytes(_ count: Int) -> [UInt8] {
        self.make(count)
    }

    /// `count` fresh bytes as unpadded base64url, for states, nonces and codes.
    package func token(_ count: Int) -> String {
        Base64URL.encode(self.bytes(count))
    }

    /// `count` fresh bytes, less one bit, as an id that can be passed to a command.
    ///
    /// The first character is a letter: a command would read an id that begins with `-` as an option.
    package func identifier(_ count: Int) -> String {
        var bytes = self.bytes(count)
        bytes[0] &= 0b0111_1111
        return Base64URL.encode(bytes)
    }

    /// The operating system's generator.
    package static let system = RandomBytes { count in
        // One system call for all bytes; `SystemRandomNumberGenerator` makes one for every eight. getentropy(3): at most 256.
        var bytes = [UInt8](repeating: 0, count: count)
        if count <= 256, unsafe getentropy(&bytes, count) == 0 { return bytes }
        var generator = SystemRandomNumberGenerator()
        bytes.removeAll(keepingCapacity: true)
        while bytes.count < count {
            var word: UInt64 = generator.next()
            for _ in 0..<min(8, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return bytes
    }
}
