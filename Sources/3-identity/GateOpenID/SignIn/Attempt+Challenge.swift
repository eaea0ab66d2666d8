// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

extension Attempt {
    /// The S256 challenge of the verifier.
    ///
    /// RFC 7636 §4.2.
    var challenge: String {
        Base64URL.encode(SHA256.hash(data: Array(self.verifier.utf8)))
    }
}
