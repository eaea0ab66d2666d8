// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GatePolicy
internal import GateProviders

/// The service tokens of a file, with the apps that accept each.
package struct ServiceTokenList: Sendable {
    package struct Row: Sendable {
        package let name: String
        /// The last day on which it is accepted, `expired` after it, or `never`.
        package let expires: String
        /// The apps that accept it.
        package let apps: [String]
        package let groups: [String]
    }

    /// The tokens, in the order of the file.
    package let rows: [Row]

    package init(_ configuration: Configuration, now: Instant = WallClock.system.now) {
        let routes = configuration.apps.map(\.route)
        self.rows = configuration.serviceTokens.map { token in
            let lastDay = token.expires.map { $0.advanced(by: .seconds(-1)).date } ?? "never"
            return Row(
                name: token.name,
                expires: token.isExpired(at: now) ? "expired" : lastDay,
                apps: routes.filter { $0.serviceTokens.contains(token.name) }.map(\.app),
                groups: token.groups
            )
        }
    }

    package var json: JSON {
        .array(
            self.rows.map { row in
                [
                    "name": .string(row.name), "expires": .string(row.expires),
                    "apps": .array(row.apps.map(JSON.string)), "groups": .array(row.groups.map(JSON.string)),
                ]
            }
        )
    }
}
