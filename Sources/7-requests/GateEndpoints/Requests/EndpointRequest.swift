// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHeaders
internal import GatePages
package import GateRuntime
package import GateSessions
package import GateWire

/// A request for an endpoint, with its complete body.
package struct EndpointRequest: Sendable {
    /// The largest body that an endpoint accepts, in bytes.
    package static let maxBody = 16 * 1024

    package let method: RequestMethod
    /// The canonical path.
    package private(set) var path: String
    /// The query; nil if it is not a form.
    package private(set) var query: Form?
    /// The body as a form; nil if it is not one.
    package let form: Form?
    /// The body as JSON, of at most eight levels; nil if it is not that.
    package let json: JSON?
    /// The origin that was asked: the gateway's or an app's.
    package let origin: Origin
    package let cookies: CookieHeader
    /// Whether the client is a browser or a script.
    package var clientKind: ClientKind
    /// The time.
    package let now: Instant
    /// When the request arrived, by `WallClock.milliseconds`.
    package let arrival: Int64
    /// The IP of the client for limits and logs: that of the proxy where a trusted one names no client.
    package let client: IPAddress?
    /// The IP of the client for rules; nil where a trusted proxy names no client, so that its own never passes for it.
    package let ruledClient: IPAddress?
    /// Whether the request is a navigation by a user, as far as the browser reports: not part of another page, not a
    /// script's request, not a prefetch. https://www.w3.org/TR/fetch-metadata/
    package let isNavigation: Bool
    /// The ticket in the one well-formed session cookie of ours, or nil.
    package let ticket: Ticket?
    /// The browser as the client describes it.
    package let userAgent: String?
    /// Whether the client reads gzip, RFC 9110 §12.5.3; false for one that gives it a weight of zero.
    package let acceptsGzip: Bool
    /// The value of `Authorization`; nil without exactly one.
    package let authorization: String?
    /// The value of `DPoP`; nil without one, and empty, which no proof is, if there are several.
    package let proof: String?
    /// The place on this site that `rd` names, as it was requested; nil if it names none.
    package private(set) var statedPath: ReturnPath?
    /// Why the value of `rd` is not taken, so that the request goes on as without one; nil if it is, or without one.
    package private(set) var refusedPath: String?
    private let secFetchSite: String?
    private let fromOrigin: String?

    /// A request with its complete body.
    package init(
        _ request: RequestHead,
        body: [UInt8],
        downstream: ForwardedHead.Downstream,
        runtime: RuntimeConfiguration,
        now: Instant
    ) {
        self.method = request.method
        self.path = request.path.text(in: request.message)
        self.query = Form(encoded: request.queryText ?? "")
        let type = EndpointRequest.value("content-type", of: request)?.lowercased() ?? ""
        let isForm = type.hasPrefix("application/x-www-form-urlencoded")
        let isJSON = type.prefix { $0 != ";" && $0 != " " } == "application/json"
        // What is not JSON is for the endpoint to reject.
        self.json = isJSON ? (try? JSON(parsing: body, depth: 8)) : nil
        self.form = isForm ? String(validating: body, as: UTF8.self).flatMap { Form(encoded: $0) } : nil
        self.origin = runtime.hosts.origin(of: request)
        self.cookies = CookieHeader(of: request)
        self.clientKind = ClientKind(request)
        self.now = now
        self.arrival = runtime.services.clock.milliseconds
        self.client = ForwardedHead.client(of: request, downstream: downstream, trusting: runtime.front.trustedProxies)
        let proxies = runtime.front.trustedProxies
        self.ruledClient = ForwardedHead.ruledClient(of: request, downstream: downstream, trusting: proxies)
        self.isNavigation = EndpointRequest.isNavigation(request)
        // A request to another host than ours gets the origin of `public_url`, but no session.
        self.ticket = request.authority.host == self.origin.host ? runtime.ticket(of: request) : nil
        self.userAgent = EndpointRequest.value("user-agent", of: request)
        self.acceptsGzip = EndpointRequest.acceptsGzip(EndpointRequest.value("accept-encoding", of: request) ?? "")
        let hasOne = request.message.count(.authorization) == 1
        self.authorization = hasOne ? request.message.value(.authorization) : nil
        let proofs = request.message.fields.filter { request.message.spells($0.nameRange, "dpop") }
        self.proof = proofs.count > 1 ? "" : proofs.first.map { request.message.text($0.valueRange) }
        let host = self.origin.host
        let stated = self.query?["rd"] ?? self.form?["rd"]
        self.statedPath = stated.flatMap { ReturnPath($0) }.map { runtime.requested($0, on: host) }
        let isRepeated = [self.query, self.form].contains { $0?.single("rd") == .repeated }
        let refused = stated.flatMap { $0.isEmpty ? nil : ReturnPath.reason(against: $0) }
        self.refusedPath = refused ?? (isRepeated ? "is there twice" : nil)
        self.secFetchSite = request.message.value(.secFetchSite)
        self.fromOrigin = request.message.value(.origin)
    }

    /// The request that a browser would send if it were redirected to the start of a sign-in.
    package func redirected(
        toStartOf provider: String,
        returningTo path: ReturnPath,
        at runtime: RuntimeConfiguration
    ) -> EndpointRequest {
        var next = self
        next.path = "\(runtime.path(.start))/\(provider)"
        next.query = Form()
        next.statedPath = path
        next.refusedPath = nil
        return next
    }

    private static func value(_ name: String, of request: RequestHead) -> String? {
        request.message.fields.first { request.message.spells($0.nameRange, name) }.map {
            request.message.text($0.valueRange)
        }
    }

    /// Whether a value of `Accept-Encoding` has gzip.
    package static func acceptsGzip(_ value: String) -> Bool {
        value.split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard parts.first == "gzip" else { return false }
            return parts.dropFirst().allSatisfy { !$0.hasPrefix("q=") || (Double($0.dropFirst(2)) ?? 0) > 0 }
        }
    }

    /// Whether a request is a navigation by a user, as far as the browser reports; true where it reports nothing.
    package static func isNavigation(_ request: RequestHead) -> Bool {
        let destination = self.value("sec-fetch-dest", of: request)
        let purpose = self.value("sec-purpose", of: request)
        let mode = request.message.value(.secFetchMode)
        return mode ?? "navigate" == "navigate" && destination ?? "document" == "document"
            && purpose?.contains("prefetch") != true
    }

    /// The network of the client for limits that several gateways share; nil if it is not known.
    package var network: String? { self.client.map { ClientNetwork(of: $0).text } }

    /// Whether a page of the gateway sent it, as far as the browser reports.
    package var comesFromOurPages: Bool {
        switch self.secFetchSite {
        case "same-origin", "none": return true
        case nil where self.fromOrigin == nil: return true
        default: return self.fromOrigin == "\(self.origin)"
        }
    }

    /// Whether a page in a browser sent it, as far as browsers report: each names the origin beside a `POST` (Fetch standard §3.2).
    package var comesFromPage: Bool { self.fromOrigin != nil || self.secFetchSite != nil }

    /// What the provider sent through the browser: the posted form, or the query.
    package var callbackParameters: Form? { self.method == .post ? self.form : self.query }

    /// The value of the cookie that binds the state of a sign-out on this host to the browser; nil without exactly one.
    package var signOutCookie: ArraySlice<UInt8>? { self.value(of: GatewayCookie.signOut(at: self.origin)) }

    /// The value of one of our cookies; nil if the browser did not send exactly one of that name.
    package func value(of cookie: GatewayCookie) -> ArraySlice<UInt8>? {
        guard case .value(let value) = self.cookies.lookup(cookie.name) else { return nil }
        return value
    }

    /// Where to go afterwards: ``statedPath``, else the front page.
    package var returnPath: ReturnPath { self.statedPath ?? .root }

    /// Whether the user wants to sign in with another account than the one that the provider or the gateway knows.
    package var wantsOtherAccount: Bool { self.query?[Form.Field.selectAccount.name] == Form.Field.selectAccount.value }

    /// Whether the user's session is to be re-checked without a page of the provider.
    package var wantsSilence: Bool { self.query?[Form.Field.silent.name] == Form.Field.silent.value }
}

extension RuntimeConfiguration {
    /// A path as it was requested: what a reference leads to, else the path itself, or a reference that has more than the path.
    package func requested(_ path: ReturnPath, on host: String) -> ReturnPath {
        guard let reference = ReturnReference(path, on: host, below: self.hosts.endpoints, by: self.sealer),
            reference.maxAuthenticationAge == nil,
            case .path(let requested) = reference.content
        else { return path }
        return requested
    }
}

extension CookieHeader {
    /// The cookies of a request.
    package init(of request: RequestHead) {
        self.init(request.message.first(.cookie).map { Array(request.message.slice($0.valueRange)) } ?? [])
    }
}
