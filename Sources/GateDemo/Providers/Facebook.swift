// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// Facebook Login: an API with a version in its paths, calls signed with the app's secret, errors as objects.
///
/// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
enum FacebookSimulator {
    private static let codeRefused = DemoQuirk(
        "facebook-code-refused",
        of: "facebook",
        "Every code is refused with an object where others have a text; the gateway reads it and tells the visitor.",
    )
    private static let graphDown = DemoQuirk(
        "facebook-graph-error",
        of: "facebook",
        "The profile cannot be had, with Facebook's error object; the gateway signs nobody in.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "facebook",
        clientID: "1234567890123456",
        quirks: [Self.codeRefused, Self.graphDown],
        lines: { stage in
            [
                "base_url: \(stage.address.base)", "api_version: v23.0",
                "authorization_endpoint: \(stage.address.pages)/v23.0/dialog/oauth",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Facebook",
            accent: "#0866ff",
            people: self.people,
            paths: CodeFlowTraits.Paths(authorize: "/dialog/oauth", token: "/oauth/access_token"),
            issuer: stage.address.base,
        )
        traits.canonicalPath = self.withoutVersion
        traits.authorization.fragment = "#_=_"
        traits.authorization.denial = [
            Form.Field("error", "access_denied"), Form.Field("error_code", "200"),
            Form.Field("error_description", "Permissions error"), Form.Field("error_reason", "user_denied"),
        ]
        traits.token.proofs = [.post]
        traits.token.codePrefix = "AQ"
        traits.token.tokenPrefix = "EAAB"
        traits.token.tokenType = "bearer"
        traits.token.lifetime = 5_183_944
        traits.token.scopeSeparator = nil
        traits.token.problem = self.problem
        traits.resourceProblem = self.problem
        if stage.quirks.contains(self.codeRefused.name) {
            traits.token.outage = OAuthError("invalid_grant", "This authorization code has been used.")
        }
        let isDown = stage.quirks.contains(self.graphDown.name)
        traits.resources["/me"] = Resource { call in
            guard !isDown else {
                let text = "An unexpected error has occurred. Please retry your request later."
                return self.problem.response(OAuthError("temporarily_unavailable", text, status: 500))
            }
            return self.me(call, secret: stage.client.secret)
        }
        return traits
    }

    /// `/v23.0/me` is `/me`.
    @Sendable private static func withoutVersion(_ path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, parts[0].first == "v", Double(parts[0].dropFirst()) != nil else { return path }
        return "/\(parts[1])"
    }

    /// The fields that were asked for, id and name if none were.
    private static func me(_ call: ResourceRequest, secret: Secret) -> DemoResponse {
        let proof = secret.withBytes { bytes in
            HMAC<SHA256>.authenticationCode(for: Data(call.token.utf8), using: SymmetricKey(data: bytes))
        }
        guard let sent = call.request.query["appsecret_proof"] else {
            let text = "API calls from the server require an appsecret_proof argument"
            return self.problem.response(OAuthError("proof", text))
        }
        guard sent == hexadecimal(proof) else {
            return self.problem.response(OAuthError("proof", "Invalid appsecret_proof provided in the API argument"))
        }
        let asked = (call.request.query["fields"] ?? "id,name").split(separator: ",").map { field in
            String(field.prefix { $0 != "." && $0 != "{" && $0 != "(" })
        }
        return .json(.object(call.grant.members(Set(asked))))
    }

    /// The numbers of https://developers.facebook.com/docs/graph-api/guides/error-handling.
    private static let problem = OAuthErrorFormat { problem in
        let number: (code: Int64, subcode: Int64?) =
            switch problem.error {
            case "invalid_token": (190, nil)
            case "invalid_client": (1, nil)
            case "invalid_grant": (100, 36_009)
            case "temporarily_unavailable": (2, nil)
            default: (100, nil)
            }
        var error: [String: JSON] = [
            "message": .string(problem.text), "type": "OAuthException", "code": .int(number.code),
            "fbtrace_id": "AbCdEfGhIjKlMnOpQrStUvW",
        ]
        error["error_subcode"] = number.subcode.map { .int($0) }
        return .json(["error": .object(error)], status: problem.status == 500 ? 500 : 400)
    }

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, which Facebook does not call verified",
            record: Self.record("10229876543210987", ("Ada", "Example")).merging(["email": "ada@example.org"]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "Registered with a telephone number, no e-mail",
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
