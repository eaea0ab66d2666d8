// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The way from a host and a path to an app, and who may take it.
package struct Route: Sendable, Hashable {
    /// The app's name in the file.
    package var app: String
    /// The origin under which browsers reach the app.
    package var origin: Origin
    /// The path prefix, starting with `/`; compared by whole segments.
    package var path: String
    /// The names of the providers whose sessions count.
    package var providers: Set<String>
    /// Who may enter.
    package var access: AccessRule
    /// Who may not, whatever ``access`` says.
    package var denied: [AccessEntry] = []
    /// Which groups the app is told of.
    package var groups = GroupShare.all
    /// What needs no sign-in.
    package var publicRules: [PublicRule]

    /// Makes a route.
    package init(app: String, origin: Origin, path: String) {
        self.app = app
        self.origin = origin
        self.path = path
        self.providers = []
        self.access = .entries([])
        self.publicRules = []
    }

    /// The app's address, which is the audience of its assertions: origin, then the prefix unless it is `/`.
    package var audience: String { self.path == "/" ? "\(self.origin)" : "\(self.origin)\(self.path)" }
}
