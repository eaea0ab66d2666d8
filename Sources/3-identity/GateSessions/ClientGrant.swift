// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What a user granted to a client of the gateway: a session of the sign-in at which it was granted, and ended with it.
///
/// RFC 6749 §1.3.
package struct ClientGrant: Sendable, Hashable {
    /// How many clients may act for each other, RFC 8693 §4.1.
    package static let maxSubjects = 3

    package let client: String
    /// The scopes, in the order of the request.
    package let scopes: [String]
    /// The audiences that access tokens may have: URLs of apps, or that of the gateway.
    package let audiences: [String]
    /// The thumbprint of the key to which the tokens are bound; nil if they are not.
    ///
    /// RFC 9449 §6.1.
    package let keyThumbprint: String?
    /// The ticket of the session whose token the client has exchanged, without which this one ends; nil for the client of a
    /// sign-in.
    let subject: Ticket?
    /// The clients whose tokens were exchanged for this grant, the nearest first; each look-up reads them again, since the grant ends with
    /// each of theirs.
    package internal(set) var subjects: [String] = []
    /// When the user had authenticated at the provider as it was granted, which stays in all of its tokens; nil if the provider did not
    /// report it.
    ///
    /// OpenID Connect Core §12.2, RFC 9068 §2.2.1.
    package internal(set) var authenticated: Instant?
    /// Whether the sign-in began at this client, without a browser, so that it ends with the grant.
    package let ownsSignIn: Bool
    /// When the session is over however often it is used; nil for as long as sessions last.
    package let ends: Instant?
    /// The number of the refresh token that is valid, from 0; each refresh adds 1.
    package internal(set) var generation = 0
    /// When that refresh token was issued.
    package internal(set) var rotated: Instant

    /// A grant with its first refresh token.
    package init(
        client: String,
        scopes: [String],
        audiences: [String],
        keyThumbprint: String? = nil,
        exchanging subject: Ticket? = nil,
        ownsSignIn: Bool = false,
        until ends: Instant? = nil,
        at now: Instant
    ) {
        self.client = client
        self.scopes = scopes
        self.audiences = audiences
        self.keyThumbprint = keyThumbprint
        self.subject = subject
        self.ownsSignIn = ownsSignIn
        self.ends = ends
        self.rotated = now
    }

    /// What is in place of the host of the cookie in the session of a client; no host has a colon.
    package static func host(of client: String) -> String { "client:\(client)" }
}

extension ClientGrant {
    /// The grant as the sealed session has it.
    var json: JSON {
        var members: [String: JSON] = [
            "client": .string(self.client), "scopes": .array(self.scopes.map(JSON.string)),
            "audiences": .array(self.audiences.map(JSON.string)), "generation": .int(Int64(self.generation)),
            "rotated": .int(self.rotated.seconds),
        ]
        members["jkt"] = self.keyThumbprint.map(JSON.string)
        members["auth_time"] = self.authenticated.map { .int($0.seconds) }
        members["subject"] = self.subject.map { .string($0.text) }
        if self.ownsSignIn { members["owns"] = true }
        members["ends"] = self.ends.map { .int($0.seconds) }
        return .object(members)
    }

    init?(json: JSON) {
        guard let client = json["client"]?.string, let scopes = json["scopes"]?.array?.compactMap(\.string),
            let audiences = json["audiences"]?.array?.compactMap(\.string),
            let generation = json["generation"]?.integer, let rotated = json["rotated"]?.integer
        else { return nil }
        self.init(
            client: client,
            scopes: scopes,
            audiences: audiences,
            keyThumbprint: json["jkt"]?.string,
            exchanging: json["subject"]?.string.flatMap { Ticket($0.utf8) },
            ownsSignIn: json["owns"]?.bool ?? false,
            until: json["ends"]?.integer.map(Instant.init(seconds:)),
            at: Instant(seconds: rotated)
        )
        self.generation = Int(generation)
        self.authenticated = json["auth_time"]?.integer.map(Instant.init(seconds:))
    }
}
