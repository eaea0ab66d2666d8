// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateClients
import GateCore
import GatePolicy
import GateSessions
import Testing

@testable import GateIssuer

/// Clients without an entry in the file.
@Suite struct OpenClientsTests {
    private let sealer = Sealer([Secret([UInt8](repeating: 1, count: 32))])
    private static let uri = "http://127.0.0.1/callback"

    private func issuer(_ change: (inout OpenClients) -> Void) throws -> Issuer {
        var open = OpenClients()
        change(&open)
        let origin = try #require(Origin(scheme: "https", host: "gate.example.com", port: 443))
        var template = ClientSettings(id: "", kind: .native, route: Route(app: "client", origin: origin, path: "/"))
        template.isOpen = true
        template.asksConsent = true
        template.audiences = ["notes"]
        let key = try AssertionKey(from: RandomBytes { [UInt8](repeating: 5, count: $0) })
        return Issuer(
            signer: TokenSigner(keys: AssertionKeys(signing: key), issuer: gate),
            clients: [],
            audiences: ["notes": "https://notes.example.com", "wiki": "https://wiki.example.com"],
            open: open,
            openClient: template,
            sealer: self.sealer
        )
    }

    private func metadata(_ members: [String: JSON]) throws(OAuthError) -> ClientMetadata {
        try ClientMetadata(.object(["redirect_uris": [.string(Self.uri)]].merging(members) { $1 }))
    }

    @Test func `without a setting there is no such client`() throws {
        let issuer = try self.issuer { _ in }
        let id = try SealedRegistration.id(of: self.metadata([:]), sealedBy: self.sealer)
        for id in [id, "https://app.example/client.json"] {
            #expect(issuer.client(named: id) == nil && issuer.client(issuedTo: id) == nil)
        }
        let metadata = issuer.metadata { "\(gate)/oauth2/\($0)" }
        #expect(metadata["registration_endpoint"] == nil && metadata["client_id_metadata_document_supported"] == nil)
    }

    @Test func `a registration is the client that was registered, for apps that are MCP servers`() throws {
        let issuer = try self.issuer { $0.dynamic = true }
        let id = try SealedRegistration.id(of: self.metadata(["client_name": "Helper"]), sealedBy: self.sealer)
        let client = try #require(issuer.client(named: id))
        #expect(client.id == id && client.name == "Helper (not verified)" && client.asksConsent && client.isOpen)
        #expect(
            client.redirectURI("http://127.0.0.1:8400/callback") && !client.redirectURI("http://127.0.0.1:8400/other")
        )
        #expect(issuer.audiences(of: client) == ["https://notes.example.com"])
        #expect(issuer.client(named: id + "A") == nil && issuer.client(named: "reg_") == nil)
        let other = Sealer([Secret([UInt8](repeating: 2, count: 32))])
        #expect(issuer.client(named: try SealedRegistration.id(of: self.metadata([:]), sealedBy: other)) == nil)
    }

    @Test func `a client without an entry has to name the app`() throws {
        let issuer = try self.issuer { $0.dynamic = true }
        let id = try SealedRegistration.id(of: self.metadata([:]), sealedBy: self.sealer)
        func outcome(_ resource: String?) -> ParsedAuthorizationRequest {
            issuer.authorizationRequest(
                IssuerFixture.form(["client_id": id, "redirect_uri": Self.uri, "resource": resource])
            )
        }
        guard case .error(let missing, _) = outcome(nil),
            case .error(let foreign, _) = outcome("https://wiki.example.com"),
            case .valid(let valid) = outcome("https://notes.example.com")
        else { return #expect(Bool(false)) }
        #expect(missing.code == .invalidTarget && foreign.code == .invalidTarget)
        #expect(valid.terms.audiences == ["https://notes.example.com"])
    }

    @Test func `the id of a registration is bounded`() throws {
        func length(_ count: Int) throws -> Int? {
            let uri = "https://app.example/" + String(repeating: "x", count: count)
            let metadata = try self.metadata(["redirect_uris": [.string(uri)]])
            return (try? SealedRegistration.id(of: metadata, sealedBy: self.sealer))?.utf8.count
        }
        let longest = try #require(try (500..<900).last { try length($0) != nil })
        #expect(try #require(try length(longest)) <= 1024 && length(longest + 1) == nil)
    }

    @Test(arguments: [
        ("https://app.example/client.json", true), ("https://app.example:8443/a/b", true),
        ("https://app.example", false),
        ("https://app.example/", false), ("http://app.example/a", false), ("HTTPS://app.example/a", false),
        ("https://APP.example/a", false), ("https://app.example:443/a", false), ("https://u@app.example/a", false),
        ("https://app.example/a?b", false), ("https://app.example/a#b", false), ("https://app.example/a/../b", false),
        ("https://app.example/./a", false), ("https://app.example/%2E./a", false), ("https://app.example/a b", false),
        ("https://other.example/a", false), ("https://app.example.evil.example/a", false),
    ])
    func `a URL is a client id if it has one spelling, a path and an allowed host`(id: String, isOne: Bool) throws {
        let issuer = try self.issuer {
            $0.byURL = true
            $0.hosts = ["app.example"]
        }
        #expect((issuer.metadataURL(of: id) != nil) == isOne, "\(id)")
        #expect((issuer.client(issuedTo: id) != nil) == isOne)
        // Only the document has the redirect URIs.
        #expect(issuer.client(named: id)?.redirectURIs ?? [] == [])
    }

    @Test func `a document is of its URL and of a client without a secret`() throws {
        let issuer = try self.issuer { $0.byURL = true }
        let url = try #require(WebURL("https://app.example/client.json"))
        func code(_ changes: [String: JSON]) -> OAuthError.Code? {
            let document: [String: JSON] = ["client_id": .string("\(url)"), "redirect_uris": [.string(Self.uri)]]
            do throws(OAuthError) {
                let client = try issuer.client(at: url, .object(document.merging(changes) { $1 }))
                #expect(client.id == "\(url)" && client.name.hasSuffix("(app.example)"))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code([:]) == nil && code(["token_endpoint_auth_method": "none", "client_name": "x"]) == nil)
        #expect(code(["client_id": "https://app.example/client.jsoN"]) == .invalidClientMetadata)
        #expect(code(["client_secret": "x"]) == .invalidClientMetadata)
        #expect(code(["token_endpoint_auth_method": "private_key_jwt"]) == .invalidClientMetadata)
        #expect(code(["token_endpoint_auth_method": .null]) == .invalidClientMetadata)
        #expect(code(["redirect_uris": ["http://evil.example/"]]) == .invalidRedirectURI)
    }

    @Test(
        arguments: [
            ("Helper", "Helper"), ("  a   b ", "a b"), ("a\u{202E}b\u{0}\nc", "abc"), ("\u{200B}\u{2066}", nil),
            ("", nil),
            (String(repeating: "x", count: 90), String(repeating: "x", count: 80)),
        ] as [(String, String?)]
    )
    func `a name has printable characters only and is bounded`(claimed: String, name: String?) throws {
        #expect(try self.metadata(["client_name": .string(claimed)]).name == name)
    }

    @Test func `at most 20 redirect URIs are registered`() throws {
        func uris(_ count: Int) -> JSON { .array((0..<count).map { .string("https://app.example/\($0)") }) }
        #expect(try self.metadata(["redirect_uris": uris(20)]).redirectURIs.count == 20)
        #expect(throws: OAuthError.self) { try self.metadata(["redirect_uris": uris(21)]) }
    }
}
