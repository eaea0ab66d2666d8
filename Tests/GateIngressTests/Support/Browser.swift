// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateHeaders
import GateSessions
import GateTestSupport
import GateWire
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import GateIngress

/// Sends requests to the gateway's own addresses as a browser would, and keeps cookies for each host.
final class Browser {
    private let gateway: GatewayFixture
    /// The cookies by host and name.
    var jar: [String: [String: String]] = [:]
    private let noted = NotedSessions()

    /// The sessions that the gateway's loop was told of as they began.
    var begun: [IssuedSession] { self.noted.all }

    init(_ gateway: GatewayFixture) {
        self.gateway = gateway
    }

    /// The answer to a request for an address of ours.
    @discardableResult
    func open(
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
        let way = ForwardedHead.Way(peer: nil, peerText: "192.0.2.1", isSecure: true, isTrusted: false)
        let own = EndpointRequest(
            head,
            body: Array(body.utf8),
            way: way,
            runtime: self.gateway.runtime,
            now: self.gateway.clock.now
        )
        let noted = self.noted
        let endpoints = Endpoints(runtime: self.gateway.runtime) { issued in noted.append(issued) }
        let answer = await endpoints.answer(to: own)
        self.keep(answer, host: place.origin.host)
        return answer
    }

    /// Takes the cookies of an answer.
    func keep(_ answer: Response, host: String) {
        for line in answer.cookies {
            let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = line.contains("; Max-Age=0;") ? nil : String(pair[1])
            self.jar[host, default: [:]][String(pair[0])] = value
        }
    }

    /// Begins a sign-in; the answer of the provider is the address of the callback that ends it.
    func begin(
        _ provider: String,
        returnPath: String = "/",
        as claims: [String: JSON] = Browser.ada
    ) async throws -> String {
        let query = Form([Form.Field("rd", returnPath)]).encoded
        let answer = try await self.open("https://\(GatewayFixture.gate)/oauth2/start/\(provider)?\(query)")
        return try self.callback(to: try #require(answer.location), provider: provider, as: claims)
    }

    /// What the provider does with the browser that it was sent.
    func callback(
        to location: String,
        provider: String,
        as claims: [String: JSON] = Browser.ada
    ) throws -> String {
        let address = try #require(WebURL(location))
        #expect(address.origin.host == "id.\(provider).example" && address.path == "/authorize")
        let form = try #require(Form(encoded: address.query ?? ""))
        var all = claims
        all["nonce"] = .string(try #require(form["nonce"]))
        self.gateway.providers.says(all)
        let answer = Form([Form.Field("code", "c1"), Form.Field("state", try #require(form["state"]))])
        return "\(try #require(form["redirect_uri"]))?\(answer.encoded)"
    }

    /// A person of example.org.
    static let ada: [String: JSON] = [
        "sub": "ada", "email": "ada@example.org", "email_verified": true, "name": "Ada Lovelace",
    ]
}

extension Response {
    var status: Int { self.head.status.code }
    var location: String? { self.head.headerFields[.location] }
    var cookies: [String] { self.head.headerFields[values: .setCookie] }
    var text: String { String(decoding: self.body, as: UTF8.self) }
    /// The code that an error page or its JSON shows.
    var code: String? { (try? JSON(parsing: self.body))?["error"]?.string }
}

/// The addresses of the buttons and links of a page, by their texts.
func links(_ page: Response) -> [String: String] {
    var links: [String: String] = [:]
    for match in page.text.matches(of: /<a [^>]*href="([^"]*)"[^>]*>([^<]*)<\/a>/) {
        links[String(match.2)] = String(match.1).replacing("&amp;", with: "&")
    }
    return links
}

/// Sessions in the order in which they began.
private final class NotedSessions: Sendable {
    private let sessions = Mutex<[IssuedSession]>([])

    var all: [IssuedSession] { self.sessions.withLock { $0 } }

    func append(_ issued: IssuedSession) { self.sessions.withLock { $0.append(issued) } }
}
