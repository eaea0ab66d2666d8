// SPDX-License-Identifier: Apache-2.0

/// What the access lines of a user's requests to an app have in common; confined to the event loop that logs them.
///
/// A user sends many requests to an app, so the bytes that a log makes of this are kept here.
package final class AccessSubject {
    let app: String?
    let route: String?
    /// The user key; nil without a session.
    package let user: String?
    let provider: String?
    /// The bytes of these values in the lines of a log, and the mark of that log; empty before its first line.
    var values: (bytes: [UInt8], mark: UInt64) = ([], 0)

    /// A user of an app.
    ///
    /// - Parameters:
    ///   - app: The name of the app; nil if the request has none.
    ///   - route: Its path prefix.
    ///   - user: The user key; nil without a session.
    ///   - provider: The provider of the session.
    package init(app: String?, route: String?, user: String? = nil, provider: String? = nil) {
        self.app = app
        self.route = route
        self.user = user
        self.provider = provider
    }
}
