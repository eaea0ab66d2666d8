// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateHeaders
package import GatePolicy
package import GateProxy
package import GateSessions
package import GateWire

/// A route with all that a request on it needs, made once for a configuration.
package final class RuntimeRoute: Sendable {
    /// Its position in the table of routes.
    package let index: Int
    /// Hosts, path and access rule.
    package let route: Route
    /// How users see it.
    package let display: DisplaySettings
    /// Where requests are forwarded to, and how.
    package let upstream: LoadedUpstream
    /// How the app receives the identity of a user.
    package let identity: AppIdentity
    /// The other pages that may write to the app, by their origins; nearly always empty.
    private let writeOrigins: [WriteOrigin]
    /// The methods that are forwarded; nil for all.
    package let methods: Set<String>?
    /// Whether header names with `_`, `.` and their like make a request rejected.
    package let rejectsIrregularNames: Bool
    /// Whether an escaped slash or backslash in the path makes a request rejected.
    let rejectsEscapedSlash: Bool
    /// Whether other spellings of the app's paths are kept from other routes and from its own public rules.
    package let guardsSpellings: Bool
    /// Whether public rules admit the clients of some network without a session.
    package let opensToNetworks: Bool
    /// Whether access can end at a date, by rules, while a request lasts.
    package let hasDates: Bool
    /// Whether tokens are accepted instead of a session.
    package let takesMachines: Bool
    /// Whether service tokens are accepted as the password of Basic authentication too.
    package let takesBasic: Bool
    /// Whether the session of a browser is accepted.
    package let takesSessions: Bool
    /// Whether access tokens of this gateway are accepted.
    package let takesTokens: Bool
    /// How many bytes the messages in a request may have, where rules are about them; nil unless the app is an MCP server.
    package let maxMCPBody: Int?
    /// Whether the app also gets `Forwarded`.
    package let sendsForwarded: Bool
    /// Whether responses may be silent without a time-out.
    package let isStreaming: Bool
    /// Who may open WebSockets; nil if the app takes none.
    package let webSocket: WebSocketRule?
    /// Whether the app speaks HTTP/2, and so may be asked for more than HTTP/1.1 has.
    package let speaksHTTP2: Bool
    /// How the head for the app differs from the client's; nil if it does not.
    package let requestChanges: RequestChanges?
    /// Whether the app is a part of its server, or gets some paths in place of others, so that no server may read a path as another.
    let confinesPaths: Bool
    /// The headers in which the app gets the certificate of the client; empty for none.
    package let certificateHeaders: [CertificateHeader]
    /// Changes to the lines of the app's responses on public paths; nil if absent.
    private let openChanges: ResponseChanges?
    /// The same on all others.
    private let protectedChanges: ResponseChanges?
    /// The direct response; nil if requests are forwarded.
    package let directResponse: DirectResponse?
    /// What the gateway responds to a proxy that asks about requests; nil for an app about which none may ask.
    package let forwardAuth: ForwardAuthMode?
    /// Writes the identity for such a proxy.
    package let identityResponse: IdentityResponse
    /// How many bytes the body of a request may have.
    package let maxBody: Int64
    /// Whether early hints of the app are passed on.
    package let passesEarlyHints: Bool
    /// Whether browsers without a session get a service worker that unregisters itself.
    package let endsServiceWorkers: Bool
    /// Whether all requests are rejected for maintenance.
    package let isInMaintenance: Bool
    /// The lifetimes of sessions on this app; nil if they are those of all apps.
    package let sessionLimits: SessionLimits?
    /// When the provider is asked again about users of this app; nil if it is as for all apps.
    package let recheck: RecheckPolicy?

    /// A route of a configuration.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - index: Its place among the apps.
    ///   - gatewayHost: The host of `public_url`.
    ///   - endpoints: Where its hosts have the gateway's endpoints.
    /// - Throws: A `Failure` naming a file for TLS with the app that cannot be read.
    package init(
        _ app: AppSettings,
        index: Int,
        gatewayHost: String,
        below endpoints: EndpointPrefix = .standard
    ) throws(Failure) {
        self.index = index
        self.route = app.route
        self.display = app.display
        self.identity = AppIdentity(app)
        self.opensToNetworks = app.route.opensToNetworks
        self.hasDates = app.route.hasDates
        self.identityResponse = IdentityResponse(app)
        self.takesMachines = !app.route.issuers.isEmpty || !app.route.serviceTokens.isEmpty
        self.takesBasic = app.takesBasic
        self.takesSessions = app.accepts.contains(.session)
        self.takesTokens = app.accepts.contains(.token)
        self.maxMCPBody = app.maxMCPBody
        self.sendsForwarded = app.sendsForwarded
        let strictness = app.traffic.strictness
        self.writeOrigins = strictness.origins
        self.methods = strictness.methods.map { Set($0) }
        self.rejectsIrregularNames = strictness.irregularNames == .reject
        self.rejectsEscapedSlash = strictness.encodedSlash == .reject
        self.guardsSpellings = strictness.pathSpelling == .any
        if let upstream = app.upstream {
            self.upstream = try LoadedUpstream(upstream)
        } else {
            self.upstream = RuntimeRoute.notForwarded
        }
        self.isStreaming = app.traffic.isStreaming
        self.webSocket = WebSocketRule(app)
        self.speaksHTTP2 = self.upstream.settings.targets.contains(where: \.isHTTP2)
        self.requestChanges = RequestChanges(app)
        self.confinesPaths = self.guardsSpellings && (self.requestChanges?.paths?.isConfined ?? false)
        self.certificateHeaders = app.certificateHeaders
        self.openChanges = ResponseChanges(app, below: endpoints, isProtected: false, gatewayHost: gatewayHost)
        self.protectedChanges = ResponseChanges(app, below: endpoints, isProtected: true, gatewayHost: gatewayHost)
        self.directResponse = DirectResponse(app)
        if case .forwardAuth(let mode) = app.action { self.forwardAuth = mode } else { self.forwardAuth = nil }
        self.maxBody = app.traffic.maxBody ?? .max
        self.passesEarlyHints = app.traffic.passesEarlyHints
        self.endsServiceWorkers = app.traffic.endsServiceWorkers
        self.isInMaintenance = app.traffic.isInMaintenance
        self.sessionLimits = app.sessionLimits.isEmpty ? nil : app.sessionLimits
        self.recheck = app.recheck
    }

    /// The upstream of routes that are not forwarded; no request uses it.
    private static let notForwarded = LoadedUpstream(
        withoutTLS: UpstreamSettings(targets: [.unix(path: "/dev/null")])
    )

    /// The app's name for users.
    package var title: String { self.display.name ?? self.name }

    /// The app's name in the configuration file.
    package var name: String { self.route.app }

    /// Whether each request that a proxy asks about may pass.
    package var isShadowed: Bool { self.forwardAuth == .shadow }

    /// How the head of a response differs from the app's; nil if it does not.
    ///
    /// - Parameter isProtected: Whether it is for a signed-in user.
    /// - Returns: The changes.
    package func responseChanges(isProtected: Bool) -> ResponseChanges? {
        isProtected ? self.protectedChanges : self.openChanges
    }

    /// The host and port under which the browser reached the app.
    package func authority(of request: RequestHead) -> String {
        self.route.origins.authority(of: request.authority.host)
    }

    /// The origin of the app's pages on the host of a request, as browsers send it.
    package func originText(of request: RequestHead) -> String { self.route.origins.text(of: request.authority.host) }

    /// Whether the app accepts a session by its age and use; the rules of the app are another matter.
    package func isCurrent(_ session: Session, now: Instant) -> Bool {
        self.sessionLimits?.admits(session, at: now) ?? true
    }

    /// How recent the authentication of a user must be for a `GET` of a path; nil if that does not matter.
    package func maxAuthenticationAge(at path: ReturnPath) -> Duration? {
        let plain = Array(path.value.utf8.prefix { $0 != UInt8(ascii: "?") })
        return RequestRules.maxAuthenticationAge(
            on: self.route,
            path: CanonicalPath.matched(ofReference: plain) ?? plain
        )
    }

    /// Whether pages of some other origin may write to some path of the app.
    package var takesWrites: Bool { !self.writeOrigins.isEmpty }

    /// Whether pages of another origin may write to some path of the app.
    package func admitsWrites(from origin: Origin) -> Bool { self.writeOrigins.contains { $0.origin == origin } }

    /// Whether pages of another origin may write to a path of the app, which may be a decoded one.
    package func admitsWrite(from origin: String, to path: Span<UInt8>, isDecoded: Bool) -> Bool {
        self.writeOrigins.contains { entry in
            guard "\(entry.origin)" == origin else { return false }
            guard let only = entry.path else { return true }
            return PathPattern(only).covers(path, as: isDecoded ? .decoded : .canonical)
        }
    }

    /// The rejection of a request whose body is too long.
    package var bodyTooLarge: Failure {
        Failure(.routeBodyTooLarge, "\(self.name) takes bodies of \(self.maxBody) bytes at most")
    }
}
