// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateDemo
internal import Synchronization

/// The app behind the gateway in the demo: shows the user's identity and how it was verified.
final class SampleApp: Sendable {
    private let verifier: AssertionVerifier
    private let jwks: @Sendable () async throws -> [UInt8]
    private let known = Mutex<JSON?>(nil)

    /// Makes the app.
    ///
    /// - Parameters:
    ///   - issuer: The gateway's public URL, as assertions name it.
    ///   - audience: The app's URL, as assertions name it.
    ///   - clock: The time for expiry.
    ///   - jwks: Fetches the gateway's `/oauth2/jwks.json`.
    init(
        issuer: String,
        audience: String,
        clock: WallClock = .system,
        jwks: @escaping @Sendable () async throws -> [UInt8],
    ) {
        self.verifier = AssertionVerifier(issuer: issuer, audience: audience, clock: clock)
        self.jwks = jwks
    }

    /// Responds to one request.
    func response(to request: DemoRequest) async -> DemoResponse {
        switch (request.method, request.path) {
        case (_, "/echo"): Self.echo(request)
        case ("GET", let path), ("HEAD", let path):
            path.hasPrefix("/public/") ? Self.publicPage(request) : await self.identityPage(request)
        default: .text("This app only shows pages; /echo takes every method.\n", status: 405)
        }
    }

    /// The received request, for tests.
    private static func echo(_ request: DemoRequest) -> DemoResponse {
        .json([
            "method": .string(request.method), "target": .string(request.target),
            "headers": .array(request.fields.map { [.string($0.name), .string($0.value)] }),
            "body_length": .int(Int64(request.body.count)),
        ])
    }

    private func outcome(of assertion: String) async -> AssertionVerifier.Outcome {
        let wanted = AssertionVerifier.keyID(of: assertion)
        let known = self.known.withLock { $0 }
        let isKnown = known?["keys"]?.array?.contains { $0["kid"]?.string == wanted } == true
        if isKnown, let known { return self.verifier.outcome(of: assertion, keys: known) }
        guard let bytes = try? await self.jwks(), let keys = try? JSON(parsing: bytes, depth: 8) else {
            return .rejected("the gateway's keys could not be fetched")
        }
        self.known.withLock { $0 = keys }
        return self.verifier.outcome(of: assertion, keys: keys)
    }
}

extension SampleApp {
    private static let identityFields = [
        "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Preferred-Username", "X-Forwarded-Name",
        "X-Forwarded-Groups", "X-Forwarded-Provider",
    ]
    private static let otherFields = [
        "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "X-Request-Id",
    ]

    private func identityPage(_ request: DemoRequest) async -> DemoResponse {
        let name = request.field("x-forwarded-name") ?? request.field("x-forwarded-user") ?? "unknown user"
        let part = await self.assertionPart(request)
        let content: Markup = """
            <h1>Hello, \(name)</h1>
            <p class="note">The sample app behind the gateway. You asked for <code>\(request.target)</code>.</p>
            \(part.message)
            \(Self.links)
            <form class="inline" method="post" action="\(EndpointPrefix.standard.path("sign_out"))"><button type="submit">Sign out</button></form>
            \(Self.table("Identity headers", Self.rows(Self.identityFields, of: request)))
            \(part.claims)
            \(Self.table("Where the request came from", Self.rows(Self.otherFields, of: request)))
            """
        return .page("Sample app", content)
    }

    /// Whether the assertion is valid, and its claims if so.
    private func assertionPart(_ request: DemoRequest) async -> (message: Markup, claims: Markup) {
        guard let assertion = request.field("x-gatehouse-assertion") else {
            let message: Markup = """
                <p class="bad" role="status"><strong>No assertion:</strong> this request did not come through the
                gateway, or no user is signed in.</p>
                """
            return (message, "")
        }
        switch await self.outcome(of: assertion) {
        case .rejected(let reason):
            return ("<p class=\"bad\" role=\"status\"><strong>Assertion not verified:</strong> \(reason).</p>", "")
        case .verified(let claims) where claims["sub"]?.string != request.field("x-forwarded-user"):
            let message: Markup = """
                <p class="bad" role="status"><strong>Assertion verified</strong>, but the headers name another user.</p>
                """
            return (message, "")
        case .verified(let claims):
            let rows = claims.sorted { $0.key < $1.key }.map { ($0.key, $0.value.string ?? $0.value.text) }
            let message: Markup = """
                <p class="good" role="status"><strong>Assertion verified</strong> with the gateway's key.</p>
                """
            return (message, Self.table("Claims of the assertion", rows))
        }
    }

    private static func publicPage(_ request: DemoRequest) -> DemoResponse {
        let content: Markup = """
            <h1>A public page</h1>
            <p>You need not sign in to see <code>\(request.target)</code>.</p>
            \(Self.links)
            """
        return .page("Public page", content)
    }

    private static var links: Markup {
        """
        <nav aria-label="Pages">
        <a href="/">Start</a> <a href="/reports/2026?month=11">A report</a> <a href="/public/about">A public page</a>
        <a href="\(EndpointPrefix.standard.path("userinfo"))">Your profile as JSON</a> <a href="\(EndpointPrefix.standard.path("jwks.json"))">The gateway's keys</a>
        </nav>
        """
    }

    private static func rows(_ names: [String], of request: DemoRequest) -> [(String, String)] {
        names.map { name in
            let values = request.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            return (name, values.isEmpty ? "(absent)" : values.joined(separator: "\n"))
        }
    }

    private static func table(_ title: String, _ rows: [(String, String)]) -> Markup {
        let lines = rows.map { row -> Markup in
            "<tr><th scope=\"row\">\(row.0)</th><td>\(row.1)</td></tr>"
        }
        return "<h2>\(title)</h2>\n<table>\n\(Markup(lines))\n</table>"
    }
}
