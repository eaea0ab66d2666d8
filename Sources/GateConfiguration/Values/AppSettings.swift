// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePolicy

/// One app behind the gateway.
package struct AppSettings: Sendable, Hashable {
    /// The way to the app and who may take it; `route.app` is the app's name.
    package var route: Route
    /// Where its requests are forwarded to.
    package var upstream: UpstreamTarget
    /// Further header names for identity fields, in the order of the file.
    package var headers: [HeaderSetting]
    /// Whether the app also gets `Forwarded`, RFC 7239.
    package var sendsForwarded = false

    /// Puts the parts together.
    package init(route: Route, upstream: UpstreamTarget, headers: [HeaderSetting] = []) {
        self.route = route
        self.upstream = upstream
        self.headers = headers
    }
}

/// Where the requests of an app are forwarded to.
package enum UpstreamTarget: Sendable, Hashable {
    /// A web server over plain HTTP.
    case http(Origin)
    /// A web server on a Unix domain socket with an absolute path.
    case unix(path: String)
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
