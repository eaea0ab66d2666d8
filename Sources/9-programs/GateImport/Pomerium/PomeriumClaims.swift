// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// The claims in headers and policies of Pomerium.
///
/// https://www.pomerium.com/docs/reference/jwt-claim-headers, https://www.pomerium.com/docs/internals/ppl
struct PomeriumClaims: Sendable {
    /// All of them by the names of the result.
    let claims: ImportedClaims
    /// The headers of `jwt_claims_headers` with their claims.
    let headers: [(name: String, claim: String)]
    private let provider: String
    /// Whether the ID of a user is another one than at Pomerium.
    let hasOwnSubject: Bool

    /// Finds the claims of a file.
    init(_ root: SourceNode, routes: [SourceNode], ofType type: String, _ notes: inout ImportNotes) {
        self.provider = type
        self.hasOwnSubject = type == "microsoft" || type == "github"
        self.headers = Self.headers(root["jwt_claims_headers"], &notes)
        let policies = routes.flatMap { Self.names(in: $0, depth: 0) }
        // Userinfo replaces what the ID token has: it is read last.
        let documents = ImportedProvider.documents(ofType: type, [.userinfo, .idToken])
        self.claims = ImportedClaims(self.headers.map(\.claim) + policies, from: documents)
    }

    /// The criterion `claim/NAME`; nil if it cannot be expressed.
    ///
    /// A number or a flag matches only a claim of the same type there, and here a text of the same form as well.
    func access(_ name: String, _ value: SourceNode, mayMatchMore: Bool) -> AccessDraft? {
        guard let text = value.text, mayMatchMore || !Self.hasOtherTypes(text) else { return nil }
        let condition =
            switch name {
            case "groups": AccessCondition(group: text)
            case "email": AccessCondition(email: text)
            case "sub" where !self.hasOwnSubject:
                ConfigText("\(self.provider):\(text)").map { AccessCondition(user: $0) }
            default: self.claims.condition(name, is: text)
            }
        return condition.map { .any(of: [$0]) }
    }

    /// The name of the claim of a criterion; nil for all others.
    static func name(ofCriterion text: String) -> String? {
        let prefix = ["claim/", "claims/"].first { text.hasPrefix($0) }
        return prefix.map { String(text.dropFirst($0.count)) }
    }

    /// Whether a text can be a number or a flag as well.
    private static func hasOtherTypes(_ text: String) -> Bool {
        text == "true" || text == "false" || Double(text) != nil
    }

    /// A mapping, a list, or a text with commas.
    private static func headers(_ node: SourceNode?, _ notes: inout ImportNotes) -> [(name: String, claim: String)] {
        guard let node else { return [] }
        if node.isMapping { return node.entries.map { ($0.name, $0.value.text ?? "") } }
        let texts = node.elements == nil ? (node.text ?? "").split(separator: ",").map(String.init) : node.texts ?? []
        let claims = texts.map { text in String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
        return claims.map { (Self.header(ofClaim: $0), $0) }
    }

    /// `X-Pomerium-Claim-Preferred-Username` for `preferred_username`.
    private static func header(ofClaim claim: String) -> String {
        let words = claim.split { $0 == "_" || $0 == "-" }.map {
            $0.prefix(1).uppercased() + $0.dropFirst().lowercased()
        }
        return (["X-Pomerium-Claim"] + words).joined(separator: "-")
    }

    /// The claims that the policies of a route compare.
    private static func names(in node: SourceNode, depth: Int) -> [String] {
        guard depth < 12 else { return [] }
        let claims = node["allowed_idp_claims"]?.entries.map(\.name) ?? []
        let own = node.entries.flatMap { name, value in
            Self.name(ofCriterion: name).map { [$0] } ?? Self.names(in: value, depth: depth + 1)
        }
        return claims + own + (node.elements ?? []).flatMap { Self.names(in: $0, depth: depth + 1) }
    }
}
