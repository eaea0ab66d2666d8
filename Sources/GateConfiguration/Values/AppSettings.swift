// SPDX-License-Identifier: Apache-2.0

package import GatePolicy
package import GateProxy

/// One app behind the gateway.
package struct AppSettings: Sendable, Hashable {
    /// The way to the app and who may take it; `route.app` is the app's name.
    package var route: Route
    /// What becomes of its requests.
    package var action: AppAction
    /// How requests and answers are passed on.
    package var traffic = TrafficSettings()
    /// Further header names for identity fields, in the order of the file.
    package var headers: [HeaderSetting]
    /// Whether the app also gets `Forwarded`, RFC 7239.
    package var sendsForwarded = false

    /// Puts the parts together.
    package init(route: Route, action: AppAction, headers: [HeaderSetting] = []) {
        self.route = route
        self.action = action
        self.headers = headers
    }

    /// The servers behind the app; nil if its requests are not forwarded.
    package var upstream: UpstreamSettings? {
        guard case .forward(let upstream) = self.action else { return nil }
        return upstream
    }
}

/// One more header in which an app receives an identity field.
package struct HeaderSetting: Sendable, Hashable {
    /// The name, as written in the file.
    package var name: String
    /// What the header holds.
    package var field: IdentityField

    /// Pairs a name with a field.
    package init(name: String, field: IdentityField) {
        self.name = name
        self.field = field
    }
}

/// What a header can tell an app about the person, by its name in the file.
package enum IdentityField: String, Sendable, CaseIterable {
    /// The user key, `provider:subject`.
    case user
    /// The e-mail address, only if it is verified.
    case email
    /// The full name.
    case name
    /// The name to show.
    case preferredUsername = "preferred_username"
    /// The groups as a comma list; a comma or percent sign inside a name is percent-encoded.
    case groups
    /// The provider's name in the file.
    case provider
}
