// SPDX-License-Identifier: Apache-2.0

/// Bytes that must not reach a log, an error or a page.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    /// Wraps the bytes of a secret.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Wraps the UTF-8 bytes of a secret text.
    package init(text: String) {
        self.bytes = Array(text.utf8)
    }

    /// How many bytes the secret has.
    package var count: Int { self.bytes.count }

    /// A mark instead of the value.
    package var description: String { "<secret>" }

    /// Hides the bytes from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Lends the bytes to the one place that needs them.
    package func withBytes<Value, Thrown>(_ body: ([UInt8]) throws(Thrown) -> Value) throws(Thrown) -> Value {
        try body(self.bytes)
    }

    /// Lends the secret as text, for the protocols that send it as such.
    package func withText<Value, Thrown>(_ body: (String) throws(Thrown) -> Value) throws(Thrown) -> Value {
        try body(String(decoding: self.bytes, as: UTF8.self))
    }

    /// Compares in time that depends on the lengths only.
    package static func == (left: Secret, right: Secret) -> Bool {
        constantTimeEquals(left.bytes, right.bytes)
    }
}

/// Compares two byte strings in time that depends on their lengths only.
package func constantTimeEquals(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    constantTimeEquals(Array(left), Array(right))
}

/// Compares two arrays of bytes in time that depends on their lengths only.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices {
        difference |= left[index] ^ right[index]
    }
    return difference == 0
}
