// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePages
internal import GatePolicy
package import GateRuntime
internal import GateSessions
package import GateWire

// How the URL that a user requested travels through a sign-in and comes back byte for byte: as it is, sealed, or in a cookie.
extension RuntimeConfiguration {
    /// The longest path that travels as it is through a session transfer, in bytes: the whole URL of the transfer has to fit
    /// the cookie of an attempt.
    private static let maxPathOnAppHost = 512
    /// The longest on the gateway's host, so that the cookie of an attempt stays small.
    static let maxPathOnGatewayHost = 1280

    /// Where the browser comes back to: the requested path, or that of the app if the request must not be repeated.
    package func returnPath(of request: RequestHead, on route: RuntimeRoute) -> ReturnPath {
        guard request.isRead else { return route.front }
        return ReturnPath(requested: request.target) ?? self.tooLong(route, on: self.hosts.origin(of: request).host)
    }

    /// The page that sent a request, as far as browsers report it: of the same origin, or of one that may write to the app.
    ///
    /// RFC 9110 §10.1.3. Of another origin browsers report no path, or only `Origin`.
    func page(of request: RequestHead, on route: RuntimeRoute) -> ReturnPath? {
        let origin = self.hosts.origin(of: request)
        let referer = request.message.fields.first { request.message.spells($0.nameRange, "referer") }
        let text = referer.map { request.message.text($0.valueRange) } ?? request.message.value(.origin)
        if let text, text.hasPrefix("\(origin)/") {
            return ReturnPath(requested: String(text.dropFirst("\(origin)".count)))
        }
        guard let page = text.flatMap({ WebURL($0) }) else { return nil }
        guard route.admitsWrites(from: page.origin) else { return nil }
        return ReturnReference(
            .page(page),
            front: route.front,
            maxAuthenticationAge: route.maxAuthenticationAge(at: request)
        )
        .path(on: origin.host, below: self.hosts.endpoints, by: self.sealer)
    }

    /// A path to which a sign-in leads back with an authentication that is recent enough for a request, even if the path itself asks for
    /// less: it is the page that sends such requests.
    func path(_ path: ReturnPath, recentEnoughFor request: RequestHead, on route: RuntimeRoute) -> ReturnPath {
        let host = self.hosts.origin(of: request).host
        guard let limit = route.maxAuthenticationAge(at: request) else { return path }
        let isReference = ReturnReference(path, on: host, below: self.hosts.endpoints, by: self.sealer) != nil
        guard !isReference, self.maxAuthenticationAge(on: host, path).map({ $0 > limit }) ?? true else { return path }
        return ReturnReference(.path(path), front: route.front, maxAuthenticationAge: limit)
            .path(on: host, below: self.hosts.endpoints, by: self.sealer)
    }

    /// How recent the authentication of a user must be for a path of a host, references apart; nil if that does not matter.
    func maxAuthenticationAge(on host: String, _ path: ReturnPath) -> Duration? {
        self.route(host: host, path: path)?.maxAuthenticationAge(at: path)
    }

    private func tooLong(_ route: RuntimeRoute?, on host: String) -> ReturnPath {
        ReturnReference(.tooLong, front: route?.front ?? .root).path(
            on: host,
            below: self.hosts.endpoints,
            by: self.sealer
        )
    }

    /// A path that is short enough for the URLs and the cookies of a sign-in: itself, or a reference to it.
    ///
    /// - Parameters:
    ///   - path: The path, which may be a reference already.
    ///   - origin: Where it is.
    ///   - cookies: The cookies of the request.
    /// - Returns: The path, and the `Set-Cookie` values for the response.
    func kept(_ path: ReturnPath, on origin: Origin, in cookies: CookieHeader) -> KeptPath {
        let isGateway = origin.host == self.hosts.publicOrigin.host
        let limit = isGateway ? RuntimeConfiguration.maxPathOnGatewayHost : RuntimeConfiguration.maxPathOnAppHost
        guard path.value.utf8.count > limit else { return KeptPath(path: path) }
        let id = ReturnCookie.newID(random: self.services.random)
        let known = ReturnReference(path, on: origin.host, below: self.hosts.endpoints, by: self.sealer)
        let route = self.route(host: origin.host, path: known?.front ?? path)
        let settings = ReturnCookie(at: origin, sealer: self.sealer)
            .settings(path, as: id, replacing: cookies, now: self.services.clock.now)
        guard let settings else {
            return KeptPath(path: self.tooLong(route, on: origin.host), isWhole: false)
        }
        let reference = ReturnReference(
            .cookie(id: id),
            front: known?.front ?? route?.front ?? .root,
            maxAuthenticationAge: known?.maxAuthenticationAge ?? route?.maxAuthenticationAge(at: path)
        )
        return KeptPath(
            path: reference.path(on: origin.host, below: self.hosts.endpoints, by: self.sealer),
            cookies: settings
        )
    }

    /// The field `rd` for a path: itself if any site may write it, else a sealed reference.
    func field(_ path: ReturnPath, on host: String? = nil) -> Form.Field {
        Form.Field("rd", self.stated(path, on: host ?? self.hosts.publicOrigin.host).value)
    }

    /// A path as `rd` has it on a host.
    private func stated(_ path: ReturnPath, on host: String) -> ReturnPath {
        ReturnPath(path.value)
            ?? ReturnReference(.path(path)).path(on: host, below: self.hosts.endpoints, by: self.sealer)
    }

    /// The place of a path on an origin, for the links of a page.
    package func place(_ path: ReturnPath, on origin: Origin) -> PageContext.Place {
        PageContext.Place(origin: origin, path: path, reference: self.stated(path, on: origin.host))
    }
}

/// A return path in the form in which it travels.
struct KeptPath {
    /// The path, or the reference to it.
    let path: ReturnPath
    /// The `Set-Cookie` values that keep it.
    var cookies: [String] = []
    /// False if it was too long to be kept.
    var isWhole = true
}

extension RuntimeRoute {
    /// The path of the app.
    var front: ReturnPath { ReturnPath(requested: self.route.path) ?? .root }

    /// How recent the authentication of a user must be for a request; nil if that does not matter.
    func maxAuthenticationAge(at request: RequestHead) -> Duration? {
        ReturnPath(requested: request.target).flatMap { self.maxAuthenticationAge(at: $0) }
    }
}

extension RequestHead {
    /// Whether repeating the request does nothing more, RFC 9110 §9.2.1.
    var isRead: Bool { self.method == .get || self.method == .head }

    /// Whether a browser asks for the script of a service worker.
    ///
    /// Service Workers §6.1.
    package var isForServiceWorker: Bool {
        let field = self.message.fields.first { self.message.spells($0.nameRange, "service-worker") }
        return self.isRead && field.map { self.message.text($0.valueRange) == "script" } ?? false
    }
}
