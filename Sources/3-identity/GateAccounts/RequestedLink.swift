// SPDX-License-Identifier: Apache-2.0

/// A link that a user has asked for: of a recovery or a registration, by email.
package enum RequestedLink {
    /// How long it is valid.
    package static let lifetime = Duration.seconds(3600)
}
