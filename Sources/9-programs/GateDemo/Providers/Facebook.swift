// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// Facebook Login: an API with a version in its paths, requests signed with the app's secret, errors as objects.
///
/// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
enum FacebookSimulator {
    private static let codeRefused = DemoQuirk(
        "facebook-code-refused",
        of: "facebook",
        "Every code is rejected with an error object in place of a string; the gateway reads it and shows its own page.",
    )
    private static let graphDown = DemoQuirk(
        "facebook-graph-error",
        of: "facebook",
        "The profile request fails with Facebook's error object; the gateway signs no user in.",
    )

    static let provider = SimulatedProvider(
        "facebook",
        clientID: "1234567890123456",
        quirks: [Self.codeRefused, Self.graphDown],
        lines: { context in
            [
                "base_url: \(context.urls.base)", "api_version: v23.0",
                "authorization_endpoint: \(context.urls.pages)/v23.0/dialog/oauth",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Facebook",
            accent: "#0866ff",
            users: self.users,
            paths: CodeFlowTraits.Paths(authorize: "/dialog/oauth", token: "/oauth/access_token"),
            issuer: context.urls.base,
        )
        traits.canonicalPath = self.withoutVersion
        traits.authorization.fragment = "#_=_"
        traits.authorization.denial = OAuthError("access_denied", "Permissions error")
        traits.authorization.errorFields = { error in
            let isDenial = error.error == "access_denied"
            return [Form.Field("error", error.error), Form.Field("error_description", error.text)]
                + (isDenial ? [Form.Field("error_code", "200"), Form.Field("error_reason", "user_denied")] : [])
        }
        traits.token.authentication = [.post]
        traits.token.code = { "AQ" + $0.token(32) }
        traits.token.accessToken = { "EAAB" + $0.token(48) }
        traits.token.tokenType = "bearer"
        traits.token.lifetime = 5_183_944
        traits.token.scope = { _ in nil }
        traits.token.errorFormat = self.errors
        traits.resourceErrors = self.errors
        if context.has(self.codeRefused) {
            traits.token.outage = OAuthError("invalid_grant", "This authorization code has been used.")
        }
        let isDown = context.has(self.graphDown)
        traits.resources["/me"] = ProtectedResource { call in
            guard !isDown else {
                let text = "An unexpected error has occurred. Please retry your request later."
                return self.errors.response(OAuthError("temporarily_unavailable", text, status: 500))
            }
            return self.me(call, secret: context.client.secret)
        }
        return traits
    }

    /// `/v23.0/me` is `/me`.
    @Sendable private static func withoutVersion(_ path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, parts[0].first == "v", Double(parts[0].dropFirst()) != nil else { return path }
        return "/\(parts[1])"
    }

    /// The requested fields; id and name by default.
    private static func me(_ call: ResourceRequest, secret: Secret) -> DemoResponse {
        let proof = secret.withBytes { bytes in
            HMAC<SHA256>.authenticationCode(for: Data(call.token.utf8), using: SymmetricKey(data: bytes))
        }
        guard let sent = call.request.query["appsecret_proof"] else {
            let text = "API calls from the server require an appsecret_proof argument"
            return self.errors.response(OAuthError("proof", text))
        }
        guard sent == hexadecimal(proof) else {
            return self.errors.response(OAuthError("proof", "Invalid appsecret_proof provided in the API argument"))
        }
        let asked = (call.request.query["fields"] ?? "id,name").split(separator: ",").map { field in
            String(field.prefix { $0 != "." && $0 != "{" && $0 != "(" })
        }
        return .json(.object(call.grant.members(Set(asked))))
    }

    /// The numbers of https://developers.facebook.com/docs/graph-api/guides/error-handling.
    private static let errors = OAuthErrorFormat { error in
        let number: (code: Int64, subcode: Int64?) =
            switch error.error {
            case "invalid_token": (190, nil)
            case "invalid_client": (1, nil)
            case "invalid_grant": (100, 36_009)
            case "temporarily_unavailable": (2, nil)
            default: (100, nil)
            }
        var body: [String: JSON] = [
            "message": .string(error.text), "type": "OAuthException", "code": .int(number.code),
            "fbtrace_id": "AbCdEfGhIjKlMnOpQrStUvW",
        ]
        body["error_subcode"] = number.subcode.map { .int($0) }
        return .json(["error": .object(body)], status: error.status == 500 ? 500 : 400)
    }

    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, which Facebook does not mark as verified",
            record: Self.record("10229876543210987", ("Ada", "Example")).merging(["email": "ada@example.org"]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "Registered with a telephone number, no email address",
            record: Self.record("122098765432109876", ("Grace", "Sample")),
        ),
    ]

    private static func record(_ id: String, _ name: (first: String, last: String)) -> [String: JSON] {
        let picture: JSON = [
            "height": 200, "width": 200, "is_silhouette": false,
            "url": .string("https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=\(id)&height=200"),
        ]
        return [
            "id": .string(id), "name": .string("\(name.first) \(name.last)"), "first_name": .string(name.first),
            "last_name": .string(name.last), "picture": ["data": picture],
        ]
    }
}
