// SPDX-License-Identifier: Apache-2.0

/// The fields of the forms that end sessions.
package enum SessionForm {
    /// The field with which a sign-out ends all sessions of the user.
    package static let everywhere = (name: "sessions", value: "all")
    /// The field that names one of the user's sessions.
    package static let session = "session"
}
