// SPDX-License-Identifier: Apache-2.0

/// Whether the authenticator has to verify the user by PIN or biometrics.
///
/// WebAuthn §5.8.6.
package enum UserVerification: String, Sendable {
    /// It has to; a response without it is rejected.
    case required
    /// It should, if it can.
    case preferred
    /// It need not.
    case discouraged
}
