// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProxy

/// A Redis server, and how to sign in there.
package struct RedisSettings: Sendable, Hashable {
    /// Where it is.
    package var target: UpstreamTarget
    /// The ACL user; nil for the default user.
    package var user: String?
    /// The password; nil for a server without one.
    package var password: Secret?
    /// The number of the database.
    package var database = 0

    /// How long commands may take once they are sent.
    package var commandTime = Duration.milliseconds(300)
    /// How long a connection attempt may take, and with it the commands that wait for it.
    package var connectTime = Duration.milliseconds(500)

    /// A server without a password.
    package init(target: UpstreamTarget) {
        self.target = target
    }
}
