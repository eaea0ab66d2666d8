// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateEndpoints
package import GateHTTP
internal import GateHeaders
internal import GateRuntime
package import GateSessions
internal import GateTestSupport
internal import GateWire
internal import HTTPTypes
internal import NIOCore
internal import Synchronization
internal import Testing

/// Sends requests to endpoints as a browser would, and keeps cookies for each host.
package final class Browser {
    private let gateway: GatewayFixture
    /// The cookies by host and name.
    package var jar: [String: [String: String]] = [:]
    /// The IP of the client; nil if it is not known, so that no limit on networks counts it.
    package var client: IPAddress?
    private let noted = NotedSessions()

    /// The sessions that were passed to the gateway's loop as they began.
    package var begun: [IssuedSession] { self.noted.all }

    /// A browser without cookies.
    package init(_ gateway: GatewayFixture) {
        self.gateway = gateway
    }

    /// The response to a request for an endpoint.
    @discardableResult
    package func open(
        _ address: String,
        method: String = "GET",
        body: String = "",
        _ lines: String = "Accept: text/html\r\n"
    ) async throws -> Response {
        let place = try #require(WebURL(address))
        let cookies = (self.jar[place.origin.host] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        var fields = lines
        if !cookies.isEmpty { fields += "Cookie: \(cookies.joined(separator: "; "))\r\n" }
        if method == "POST" { fields += "Content-Length: \(body.utf8.count)\r\n" }
        let head = try self.gateway.head("\(method) \(place.target)", place.origin.host, fields)
        let downstream = ForwardedHead.Downstream(
            peer: self.client,
            peerText: "192.0.2.1",
            isSecure: true,
            isTrusted: false
        )
        let own = EndpointRequest(
            head,
            body: Array(body.utf8),
            downstream: downstream,
            runtime: self.gateway.runtime,
            now: self.gateway.clock.now
        )
        let noted = self.noted
        let endpoints = Endpoints(runtime: self.gateway.runtime) { issued in noted.append(issued) }
        let response = await endpoints.response(to: own)
        self.keep(response, host: place.origin.host)
        return response
    }

    /// The response to a form that is posted to a URL.
    @discardableResult
    package func post(_ address: String, _ fields: [String: String], _ lines: String = "") async throws -> Response {
        let form = Form(fields.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) })
        let all = "Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n\(lines)"
        return try await self.open(address, method: "POST", body: form.encoded, all)
    }

    /// The response to a form of a page, with what the user has typed.
    @discardableResult
    package func submit(
        _ form: PageForm,
        _ typed: [String: String] = [:],
        _ lines: String = ""
    ) async throws -> Response {
        try await self.post(form.action, form.hidden.merging(typed) { $1 }, lines)
    }

    /// Keeps the cookies of a response.
    package func keep(_ response: Response, host: String) {
        for line in response.cookies {
            let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = line.contains("; Max-Age=0;") ? nil : String(pair[1])
            self.jar[host, default: [:]][String(pair[0])] = value
        }
    }

    /// Begins a sign-in; returns the URL of the callback that ends it.
    package func begin(
        _ provider: String,
        returnPath: String = "/",
        as claims: [String: JSON] = Browser.ada
    ) async throws -> String {
        let query = Form([Form.Field("rd", returnPath)]).encoded
        let response = try await self.open("https://\(GatewayFixture.gate)/oauth2/start/\(provider)?\(query)")
        return try self.callback(to: try #require(response.location), provider: provider, as: claims)
    }

    /// What the provider does with the browser that it was sent.
    package func callback(
        to location: String,
        provider: String,
        as claims: [String: JSON] = Browser.ada
    ) throws -> String {
        let address = try #require(WebURL(location))
        #expect(address.origin.host == "id.\(provider).example" && address.path == "/authorize")
        let form = self.gateway.providers.parameters(of: try #require(Form(encoded: address.query ?? "")))
        var all = claims
        all["nonce"] = .string(try #require(form["nonce"]))
        self.gateway.providers.setClaims(all)
        let response = Form([Form.Field("code", "c1"), Form.Field("state", try #require(form["state"]))])
        return "\(try #require(form["redirect_uri"]))?\(response.encoded)"
    }

    /// A user of example.org.
    package static let ada: [String: JSON] = [
        "sub": "ada", "email": "ada@example.org", "email_verified": true, "name": "Ada Lovelace",
    ]
}

extension Response {
    /// The status.
    package var status: Int { self.head.status.code }
    /// The value of `Location`.
    package var location: String? { self.head.headerFields[.location] }
    /// The cookies that it sets, as field values.
    package var cookies: [String] { self.head.headerFields[values: .setCookie] }
    /// The body.
    package var text: String { String(decoding: self.body, as: UTF8.self) }
    /// The code that an error page or its JSON shows.
    package var code: String? { (try? JSON(parsing: self.body))?["error"]?.string }
}

/// The addresses of the buttons and links of a page, by their texts.
package func links(_ page: Response) -> [String: String] {
    var links: [String: String] = [:]
    let text = page.text.replacing(/<\/?span>|<img[^>]*>|<small>[^<]*<\/small>/, with: "")
    for match in text.matches(of: /<a [^>]*href="([^"]*)"[^>]*>([^<]*)<\/a>/) {
        links[String(match.2)] = String(match.1).replacing("&amp;", with: "&")
    }
    return links
}

/// A form of a page.
package struct PageForm {
    /// Where it leads.
    package let action: String
    /// The hidden fields.
    package let hidden: [String: String]
    /// The names and values of its buttons.
    package let buttons: [String: String]
    /// What the script asks the browser's authenticator for; nil for a form without a passkey.
    package let options: JSON?

    /// The challenge for a passkey.
    package var challenge: String { get throws { try #require(self.options?["challenge"]?.string) } }
}

extension Response {
    /// The forms of the page.
    package var forms: [PageForm] {
        self.text.matches(of: /(?s)<form ([^>]*)>(.*?)<\/form>/).map { match in
            let attributes = Response.attributes(match.1)
            var (hidden, buttons): ([String: String], [String: String]) = ([:], [:])
            for input in match.2.matches(of: /<input type="hidden"([^>]*)>/) {
                let field = Response.attributes(input.1)
                hidden[field["name"] ?? ""] = field["value"]
            }
            for button in match.2.matches(of: /<button([^>]*)>/) {
                let field = Response.attributes(button.1)
                if let name = field["name"] { buttons[name] = field["value"] }
            }
            let options = attributes["data-options"].flatMap { try? JSON(parsing: Array($0.utf8)) }
            return PageForm(action: attributes["action"] ?? "", hidden: hidden, buttons: buttons, options: options)
        }
    }

    /// The only form of the page with a field of this name.
    package func form(with field: String) throws -> PageForm {
        try #require(self.forms.first { $0.hidden[field] != nil || $0.buttons[field] != nil })
    }

    private static func attributes(_ text: Substring) -> [String: String] {
        let escapes = ["&quot;": "\"", "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"]
        return text.matches(of: /([a-z-]+)="([^"]*)"/).reduce(into: [:]) { found, match in
            let plain = ["&quot;", "&#39;", "&lt;", "&gt;", "&amp;"].reduce(String(match.2)) {
                $0.replacing($1, with: escapes[$1] ?? "")
            }
            found[String(match.1)] = plain
        }
    }
}

/// Sessions in the order in which they began.
private final class NotedSessions: Sendable {
    private let sessions = Mutex<[IssuedSession]>([])

    var all: [IssuedSession] { self.sessions.withLock { $0 } }

    func append(_ issued: IssuedSession) { self.sessions.withLock { $0.append(issued) } }
}
