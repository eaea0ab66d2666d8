// SPDX-License-Identifier: Apache-2.0

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

    /// `count` fresh bytes as unpadded base64url, for states, nonces, codes and ids.
    package func token(_ count: Int) -> String {
        Base64URL.encode(self.bytes(count))
    }

    /// The operating system's generator.
    package static let system = RandomBytes { count in
        // Eight bytes a word: each word is a system call.
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
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
