// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// What an app does with requests: redirects, fixed responses, and how they are forwarded.
@Suite struct TrafficTests {
    @Test func `without a word requests are passed on as they are`() throws {
        let app = try Fixture.app()
        var wanted = TrafficSettings()
        wanted.webSocket = WebSocketSettings()
        #expect(app.traffic == wanted)
        #expect(app.traffic.maxBody == nil)
        #expect(app.traffic.requestHeaders.isEmpty && app.traffic.responseHeaders.isEmpty)
    }

    @Test func `everything about the traffic is read`() throws {
        let traffic = try Fixture.app(
            """
                path: /wiki
                strip_prefix: true
                upstream_host: App.Internal:8443
                request_headers: { set: { X-Team: blue, X-Key: "${env:CLIENT_SECRET}" }, remove: [X-Debug, Cookie, authorization] }
                response_headers: { set: { X-Frame-Options: DENY }, remove: [Server, Set-Cookie] }
                max_body: 2GiB
                websocket: true
                websocket_origins: ["https://Portal.example.com/", "http://localhost:3000"]
                early_hints: true
                streaming: true
                maintenance: true
            """
        ).traffic
        var wanted = TrafficSettings()
        wanted.stripsPrefix = true
        wanted.upstreamHost = "app.internal:8443"
        wanted.requestHeaders = HeaderEdits(
            set: [HeaderValue(name: "X-Team", value: "blue"), HeaderValue(name: "X-Key", value: "sample-secret")],
            remove: ["X-Debug", "Cookie", "authorization"]
        )
        wanted.responseHeaders = HeaderEdits(
            set: [HeaderValue(name: "X-Frame-Options", value: "DENY")],
            remove: ["Server", "Set-Cookie"]
        )
        wanted.maxBody = 2 << 30
        let origins = ["https://portal.example.com", "http://localhost:3000"].compactMap { WebURL($0)?.origin }
        wanted.webSocket = WebSocketSettings(origins: origins)
        wanted.passesEarlyHints = true
        wanted.isStreaming = true
        wanted.isInMaintenance = true
        #expect(traffic == wanted)
    }

    @Test func `what an app makes of requests that servers read differently is read`() throws {
        let traffic = try Fixture.app(
            """
                encoded_slash: reject
                path_spelling: exact
                methods: [GET, PROPFIND, x-Mine]
                underscore_headers: forward
                origins: ["https://Portal.example.com/", "https://idp.example.com /saml/acs"]
                upstream_origin: rewrite
                upstream_host: app.internal
                rewrite: false
                cache_control: pass
                request_headers: { keep: [X-User-Id] }
            """
        ).traffic
        var wanted = TrafficSettings()
        wanted.webSocket = WebSocketSettings()
        wanted.upstreamHost = "app.internal"
        wanted.strictness.encodedSlash = .reject
        wanted.strictness.pathSpelling = .exact
        wanted.strictness.methods = ["GET", "PROPFIND", "x-Mine"]
        wanted.strictness.irregularNames = .forward
        let origins = ["https://portal.example.com", "https://idp.example.com"].compactMap { WebURL($0)?.origin }
        wanted.strictness.origins = [
            WriteOrigin(origin: origins[0]), WriteOrigin(origin: origins[1], path: "/saml/acs"),
        ]
        wanted.strictness.upstreamOrigin = .rewrite
        wanted.mapsResponses = false
        wanted.caching = .pass
        wanted.requestHeaders.keep = ["X-User-Id"]
        #expect(traffic == wanted)
    }

    @Test(arguments: [("0", nil), ("1", 1), ("1KiB", 1024), ("1024GiB", 1 << 40)] as [(String, Int64?)])
    func `a limit of zero for bodies means no limit`(text: String, limit: Int64?) throws {
        #expect(try Fixture.app("    max_body: \(text)").traffic.maxBody == limit)
    }

    @Test func `G-06 a body has no limit unless the file sets one, since none is stored`() throws {
        #expect(try Fixture.app("").traffic.maxBody == nil)
    }

    @Test(arguments: [("websocket: true", WebSocketSettings()), ("websocket: false", nil), ("", WebSocketSettings())])
    func `V-04 WebSockets are passed on unless that is switched off`(line: String, settings: WebSocketSettings?) throws
    {
        #expect(try Fixture.app("    \(line)").traffic.webSocket == settings)
    }

    @Test func `an app can redirect all requests`() throws {
        let app = try Fixture.app(upstream: "redirect: { to: https://new.example.com }")
        let to = try #require(WebURL("https://new.example.com"))
        #expect(app.action == .redirect(RedirectSettings(to: to, status: 308, keepsPath: true)))
        #expect(app.upstream == nil)
        let other = try Fixture.app(
            upstream: "redirect: { to: \"http://new.example.com/a?b=c\", status: 303, keep_path: false }"
        )
        let query = try #require(WebURL("http://new.example.com/a?b=c"))
        #expect(other.action == .redirect(RedirectSettings(to: query, status: 303, keepsPath: false)))
    }

    @Test func `an app can be a fixed response`() throws {
        #expect(try Fixture.app(upstream: "response: {}").action == .respond(FixedResponse()))
        var wanted = FixedResponse()
        wanted.status = 410
        wanted.body = "<p>Gone,\nfishing.\n"
        wanted.contentType = "text/html; charset=utf-8"
        let text = "response:\n      status: 410\n      body: |\n        <p>Gone,\n        fishing.\n"
        #expect(
            try Fixture.app(upstream: text + "      content_type: text/html; charset=utf-8").action == .respond(wanted)
        )
    }

    @Test func `a fixed response has at most 64 KiB`() throws {
        let longest = String(repeating: "é", count: 32_768)
        #expect(try Fixture.app(upstream: "response: { body: \(longest) }").action != .respond(FixedResponse()))
        let messages = Fixture.messages(Fixture.smallest(upstream: "response: { body: \(longest)a }"))
        let words = "has 65537 bytes, and a response may have 65536; serve it from an app"
        #expect(messages.count == 1 && messages.first?.hasSuffix(words) == true)
    }
}
