// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// The bytes of a file without U+FEFF at its start, which some editors write and which has no meaning.
    ///
    /// RFC 3629 §6.
    package var withoutByteOrderMark: [UInt8] {
        self.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(self.dropFirst(3)) : self
    }
}
