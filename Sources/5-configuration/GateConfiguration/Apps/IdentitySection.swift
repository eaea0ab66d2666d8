// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

/// How an app receives the identity of a user, beside the names of its headers.
package struct IdentitySettings: Sendable, Hashable {
    /// The fields that are sent in the standard headers, `X-Forwarded-User` and so on.
    package var fields = IdentityField.standard
    /// The claims that the assertion has beside those that are sent in headers.
    package var claims: Set<String> = []
    /// How values are written that are not plain ASCII.
    package var encoding = HeaderEncoding.percent
    /// What is between two groups: one visible ASCII character.
    package var groupSeparator = ","
    /// How many bytes all identity lines together may have.
    package var maxBytes = IdentitySettings.defaultMaxBytes
    /// What the app gets in `Authorization`; nil if the client's value is forwarded.
    package var authorization: AppAuthorization?
    /// What the signature over the headers covers; nil for no signature.
    package var signature: SignatureScope?

    /// As many as the groups of a session can need.
    package static let defaultMaxBytes = 256 << 10

    /// What is sent by default: every standard header.
    package init() {}

    /// Whether a fact is sent in its standard header.
    package func sends(_ fact: IdentityFact) -> Bool {
        guard case .field(let field) = fact else { return false }
        return self.fields.contains(field)
    }

    /// The names of the client's header fields that are not forwarded because the gateway sets them.
    package var replacedNames: [String] {
        let authorization = self.authorization == nil ? [] : ["Authorization"]
        return authorization + (self.signature == nil ? [] : ["Signature", "Signature-Input"])
    }
}

/// How an identity value that is not plain ASCII is written in a header.
package enum HeaderEncoding: String, Sendable, CaseIterable {
    /// Percent-encoded UTF-8, `%` included.
    case percent
    /// Latin-1 bytes; what Latin-1 lacks is left out.
    case plain
    /// The UTF-8 of every value in base64url, without padding: RFC 4648 §5.
    case base64url
    /// Quoted-printable UTF-8, as Grafana decodes it with `headers_encoded`: RFC 2045 §6.7.
    case quotedPrintable = "quoted_printable"
    /// Encoded words of UTF-8: RFC 2047.
    case rfc2047
    /// `UTF-8''` and percent-encoded UTF-8: RFC 8187.
    case rfc8187
}

/// What a signature over the identity headers covers.
package enum SignatureScope: String, Sendable, CaseIterable {
    /// The identity headers; one signature serves some requests.
    case headers
    /// The method, host, path and query of the request too, so that each has a signature of its own.
    case request
}

/// What an app gets in `Authorization`.
package enum AppAuthorization: Sendable, Hashable {
    /// The assertion as a bearer token.
    case assertion
    /// A token that the provider issued to the gateway for the user, as a bearer token.
    case providerToken(ProviderTokenKind)
    /// A fixed user name and password, the same for every user.
    case basic(username: String, password: Secret)
}

/// Which of the provider's tokens an app gets.
package enum ProviderTokenKind: String, Sendable {
    /// The access token, for calls of the app to the provider's API.
    case accessToken = "access_token"
    /// The ID token, whose audience is the gateway's client.
    case idToken = "id_token"
}

/// The headers that a well-known app or gateway expects.
package enum IdentityPreset: String, Sendable, CaseIterable {
    /// Grafana's `auth.proxy` with `headers_encoded = true`.
    case grafana
    /// Jenkins' plugin reverse-proxy-auth.
    case jenkins
    /// The proxy authentication of OpenSearch and its dashboards, and of forks of Kibana.
    case kibana
    /// What Pomerium sends.
    case pomerium
    /// What Google's Identity-Aware Proxy sends.
    case iap
    /// What Cloudflare Access sends.
    case cloudflare
    /// What Authelia and many others send.
    case remoteUser = "remote-user"

    package var headers: [HeaderSetting] {
        switch self {
        case .grafana:
            [
                HeaderSetting(name: "X-WEBAUTH-USER", field: .user),
                HeaderSetting(name: "X-WEBAUTH-EMAIL", field: .email),
                HeaderSetting(name: "X-WEBAUTH-NAME", field: .name),
                HeaderSetting(name: "X-WEBAUTH-GROUPS", field: .groups),
            ]
        case .jenkins:
            [
                HeaderSetting(name: "X-Forwarded-Mail", field: .email),
                HeaderSetting(name: "X-Forwarded-DisplayName", field: .name),
            ]
        case .kibana:
            [
                HeaderSetting(name: "X-Proxy-User", field: .user), HeaderSetting(name: "X-Proxy-Roles", field: .groups),
            ]
        case .pomerium:
            [
                HeaderSetting(name: "X-Pomerium-Jwt-Assertion", field: .assertion),
                HeaderSetting(name: "X-Pomerium-Claim-Email", field: .email),
                HeaderSetting(name: "X-Pomerium-Claim-Name", field: .name),
                HeaderSetting(name: "X-Pomerium-Claim-Groups", field: .groups),
                HeaderSetting(name: "X-Pomerium-Claim-User", field: .user),
            ]
        case .iap:
            [
                HeaderSetting(name: "X-Goog-Authenticated-User-Email", field: .email, prefix: IdentityPreset.google),
                HeaderSetting(name: "X-Goog-Authenticated-User-Id", field: .user, prefix: IdentityPreset.google),
                HeaderSetting(name: "X-Goog-IAP-JWT-Assertion", field: .assertion),
            ]
        case .cloudflare:
            [
                HeaderSetting(name: "Cf-Access-Authenticated-User-Email", field: .email),
                HeaderSetting(name: "Cf-Access-Jwt-Assertion", field: .assertion),
            ]
        case .remoteUser:
            [
                HeaderSetting(name: "Remote-User", field: .user), HeaderSetting(name: "Remote-Email", field: .email),
                HeaderSetting(name: "Remote-Name", field: .name), HeaderSetting(name: "Remote-Groups", field: .groups),
            ]
        }
    }

    /// How the app decodes values.
    var encoding: HeaderEncoding { self == .grafana ? .quotedPrintable : .percent }

    /// What the app expects between groups.
    var groupSeparator: String { self == .jenkins ? "|" : "," }

    /// What apps behind Google's proxy expect before a value.
    private static let google = "accounts.google.com:"
}

/// `identity` of an app as the file has it.
struct IdentityDraft: Sendable {
    var preset: IdentityPreset?
    var fields: [Located<IdentityField>]?
    var claims: [Located<String>]?
    var encoding: Located<HeaderEncoding>?
    var groupSeparator: String?
    var maxBytes: Int?
    var authorization: Located<BearerChoice>?
    var basic: Located<BasicDraft>?
    var signature: Located<SignatureScope>?
}

/// Which token an app gets as a bearer token.
enum BearerChoice: String, Sendable, CaseIterable {
    case assertion
    case accessToken = "access_token"
    case idToken = "id_token"

    /// The provider's token that it is; nil for the assertion.
    var providerToken: ProviderTokenKind? { ProviderTokenKind(rawValue: self.rawValue) }

    /// What the app gets.
    var authorization: AppAuthorization { self.providerToken.map(AppAuthorization.providerToken) ?? .assertion }
}

/// `basic` as the file has it.
struct BasicDraft: Sendable {
    var username: String?
    var password: Secret?
}

extension Mapping<IdentityDraft> {
    /// `apps.<name>.identity`.
    static let identity = Mapping(
        "the identity headers",
        path: "apps.<name>.identity",
        summary:
            "How the app receives the identity of a user. See [headers.md](headers.md#for-apps-that-expect-other-headers).",
        make: { IdentityDraft() },
        keys: [
            Key(
                "preset",
                \.preset,
                .preset,
                .init(default: .words("none"), example: "grafana"),
                "The further headers, the encoding and the separator of groups that an app expects: `grafana`, `jenkins`, `kibana` "
                    + "(OpenSearch), or those of another gateway: `pomerium`, `iap` (Google), `cloudflare`, `remote-user` "
                    + "(Authelia). `headers` and the keys here replace single values of it."
            ),
            Key(
                "fields",
                \.fields,
                .list(
                    of: Shape<IdentityField>.identityField.located,
                    named: "a list of identity fields"
                ),
                .init(
                    default: .value(["user", "email", "name", "preferred_username", "groups", "provider"]),
                    example: ["user", "email"]
                ),
                "Which fields the app gets in the standard headers, `X-Forwarded-User` and so on; `[]` for none. The assertion is "
                    + "always sent, with its own claims and with each field of this list. The fields, their headers and claims are "
                    + "in [headers.md](headers.md#fields)."
            ),
            Key(
                "claims",
                \.claims,
                .list(of: Shape<String>.claimName.located, named: "a list of claims"),
                .init(default: .value([]), example: ["department"]),
                "Which of the providers' `claims` the assertion has, in its member `claims`. Those that `headers` sends are in it anyway."
            ),
            Key(
                "encoding",
                located: \.encoding,
                .oneOf("an encoding"),
                .init(default: "percent", example: "rfc2047"),
                "How values are written that are not plain ASCII, in all identity headers of the app: `percent`, `plain` (Latin-1; "
                    + "other characters are left out of names, and other values with one are not sent), `base64url` "
                    + "(every value), `quoted_printable`, `rfc2047` or `rfc8187`."
            ),
            Key(
                "group_separator",
                \.groupSeparator,
                .groupSeparator,
                .init(default: ",", example: "|"),
                "The character between two groups: one of `,`, `;`, `|` or a space. One within the name of a group is "
                    + "percent-encoded with `percent`, and with `plain`, `quoted_printable`, `rfc2047` and `rfc8187` such a group is left "
                    + "out."
            ),
            Key(
                "max_bytes",
                \.maxBytes,
                .size(1024...IdentitySettings.defaultMaxBytes),
                .init(default: "256KiB", example: "8KiB"),
                "How many bytes all identity headers together may have. A user with more, mostly by groups, gets an error page and "
                    + "not a part of the groups."
            ),
            Key(
                "authorization",
                located: \.authorization,
                .oneOf("a token for the app"),
                .init(default: .words("the client's value is forwarded"), example: "assertion"),
                "With `assertion` the app gets the assertion as `Authorization: Bearer` too; with `access_token` or `id_token` "
                    + "the provider's token of the user, as long as it has not expired: "
                    + "[headers.md](headers.md#tokens-of-the-provider). The client's `Authorization` is removed, on public "
                    + "paths as well; with `forward_auth` only if the proxy copies the gateway's, see [forward-auth.md](forward-auth.md)."
            ),
            Key(
                "basic",
                located: \.basic,
                Mapping<BasicDraft>.basic.shape,
                .init(default: .words("none")),
                "A user name and a password that the app gets as `Authorization: Basic` with each request of a signed-in user. "
                    + "The client's `Authorization` is removed, on public paths as well."
            ),
            Key(
                "signature",
                located: \.signature,
                .oneOf("what the signature covers"),
                .init(default: .words("none"), example: "headers"),
                "Adds a signature over the identity headers (RFC 9421, `ecdsa-p256-sha256`, with the key of the assertion): of the "
                    + "`headers` only, or of the whole `request` with method, host, path and query, which is made for "
                    + "each request."
            ),
        ],
        check: { identity, written, reading in identity.check(&reading) }
    )
}

extension Mapping<BasicDraft> {
    /// `apps.<name>.identity.basic`.
    fileprivate static let basic = Mapping(
        "the credential for the app",
        path: "apps.<name>.identity.basic",
        summary: "What the gateway signs in to the app with, the same for every user.",
        make: { BasicDraft() },
        keys: [
            Key(
                "username",
                \.username,
                .username,
                .init(isRequired: true, example: "gateway"),
                "The user name."
            ),
            Key(
                "password",
                \.password,
                .secret(atLeast: 1),
                .init(isRequired: true, example: "${file:/run/secrets/app}"),
                "The password."
            ),
        ]
    )
}

extension IdentityDraft {
    /// The settings, and the headers of the preset.
    var settings: IdentitySettings {
        var settings = IdentitySettings()
        if let fields { settings.fields = Set(fields.map(\.value)).intersection(IdentityField.standard) }
        settings.claims = Set((self.claims ?? []).map(\.value))
        settings.encoding = self.effectiveEncoding
        settings.groupSeparator = self.groupSeparator ?? self.preset?.groupSeparator ?? settings.groupSeparator
        settings.maxBytes = self.maxBytes ?? settings.maxBytes
        settings.authorization = self.authorization?.value.authorization
        if let username = self.basic?.value.username, let password = self.basic?.value.password {
            settings.authorization = .basic(username: username, password: password)
        }
        settings.signature = self.signature?.value
        return settings
    }

    /// Whether it asks for what another proxy would not copy into the request to the app.
    var isForUpstream: Bool {
        let settings = self.settings
        return settings.signature != nil || self.basic != nil || settings.encoding == .plain
    }

    private var effectiveEncoding: HeaderEncoding { self.encoding?.value ?? self.preset?.encoding ?? .percent }

    fileprivate func check(_ reading: inout DecodingContext) {
        if let basic, self.authorization != nil {
            reading.error("'basic' and 'authorization' set the same header; remove one of them", at: basic.mark)
        }
        if let signature, self.effectiveEncoding == .plain {
            let help = "a signature covers ASCII only; choose another encoding"
            reading.error("'signature' does not go with 'encoding: plain': \(help)", at: signature.mark)
        }
    }
}

extension IdentityDraft {
    /// The headers of the fields that an app gets only if it asks for them.
    var furtherHeaders: [HeaderSetting] {
        (self.fields ?? []).map(\.value).filter { !IdentityField.standard.contains($0) }.map {
            HeaderSetting(name: $0.header, field: $0)
        }
    }
}

extension Shape<IdentityField> {
    /// A field that has a standard header.
    static let identityField = Shape.oneOf(
        "an identity field",
        among: IdentityField.facts,
        otherwise: ["username": "preferred_username", "id": "user", "sub": "user", "mail": "email"]
    )
}

extension Shape<IdentityFact> {
    private static let names = IdentityField.allCases.map(\.rawValue)

    /// What a header has: an identity field, or a claim as `claims.NAME`.
    static let identityFact = single(
        "an identity field",
        pattern: "^(\(names.joined(separator: "|"))|username|claims\\.[a-z][a-z0-9_]{0,63})$"
    ) { text throws(InvalidValue) in
        if let field = IdentityField(rawValue: text == "username" ? "preferred_username" : text) {
            return .field(field)
        }
        guard text.hasPrefix(Shape.prefix) else {
            let meant = Hint.nearest(to: text, in: Shape.names).map { "did you mean '\($0)'?" }
            let help =
                meant ?? "write one of \(Shape.names.joined(separator: ", ")), or 'claims.' and the name of a claim"
            throw InvalidValue("is not an identity field; \(help)")
        }
        let name = String(text.dropFirst(Shape.prefix.count))
        if let reason = NameRule.claimName.reason(name) { throw InvalidValue("names no claim; \(reason)") }
        return .claim(name)
    }

    private static let prefix = "claims."
}

extension Shape<IdentityPreset> {
    /// The preset of an app; for an app that reads no identity headers the error describes what to do instead.
    fileprivate static let preset: Shape = {
        let names = Shape.oneOf(
            "a preset",
            otherwise: ["opensearch": "kibana", "authelia": "remote-user", "remote_user": "remote-user"]
        )
        return Shape(names.kind, schema: names.schema) { node, reading in
            guard case .scalar = node.content, let scalar = reading.scalar(node, kind: names.kind),
                scalar.text.lowercased() == "gitlab"
            else { return names.read(node, &reading) }
            let help =
                "remove 'preset'; the gateway decides who reaches it, and users sign in to GitLab with its own OpenID Connect "
                + "(docs/apps/gitlab.md)"
            reading.error("there is no preset for GitLab, which reads no identity headers: \(help)", at: scalar.mark)
            return nil
        }
        .written { .string($0.rawValue) }
    }()
}

extension Shape<String> {
    /// The user name of a fixed credential.
    ///
    /// RFC 7617 §2: no colon and no control character.
    fileprivate static let username = single("a user name", pattern: "^[^:]{1,256}$") { text throws(InvalidValue) in
        guard (1...256).contains(text.utf8.count), PrintableText.isPrintable(text), !text.contains(":") else {
            throw InvalidValue("has 1 to 256 printable characters and no ':'")
        }
        return text
    }

    /// What is between two groups.
    fileprivate static let groupSeparator = single("a separator", pattern: "^[,;| ]$") { text throws(InvalidValue) in
        guard [",", ";", "|", " "].contains(text) else {
            throw InvalidValue("is not a separator; write one of ',', ';', '|' or ' '")
        }
        return text
    }
    .written { .string($0) }
}
