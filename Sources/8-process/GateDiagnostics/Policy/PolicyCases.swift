// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GatePolicy
internal import GateYAML

/// The cases of a file for `gatehouse policy test`: requests of users, each with the expected decision.
package struct PolicyCases: Sendable {
    package struct Result: Sendable {
        /// The file and the line of the case.
        package let place: RulePlace
        /// The decision; nil if the question has no decision.
        package let decision: String?
        /// What differs from the case; nil if nothing does.
        package let difference: String?

        /// The result for programs.
        package var json: JSON {
            var members: [String: JSON] = [
                "file": .string(self.place.file), "line": .int(Int64(self.place.line)),
                "passed": .bool(self.difference == nil),
            ]
            members["decision"] = self.decision.map(JSON.string)
            members["difference"] = self.difference.map(JSON.string)
            return .object(members)
        }
    }

    private let cases: [(draft: CaseDraft, place: RulePlace)]
    private let users: [String: Profile]

    /// Reads a file of cases.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - name: The file, as messages name it.
    ///   - environment: The variables for `${env:NAME}`.
    /// - Returns: The cases, nil if there is any error, and the diagnostics.
    package static func read(
        _ bytes: [UInt8],
        name: String,
        environment: [String: String]
    ) -> (cases: PolicyCases?, diagnostics: [Diagnostic]) {
        let folder = FileAccess.workingFolder
        var reading = DecodingContext(
            bytes: bytes,
            name: name,
            folder: folder,
            environment: environment,
            access: .system
        )
        guard let draft = reading.read(Mapping<CasesDraft>.cases.shape, from: bytes) else {
            return (nil, reading.diagnostics)
        }
        var users: [String: Profile] = [:]
        for user in draft.users ?? [] { users[user.name] = user.value.profile(&reading, at: user.mark) }
        let cases = (draft.cases ?? []).map { ($0, reading.place(of: $0.mark)) }
        for (one, _) in cases {
            guard let user = one.user, users[user.value] == nil else { continue }
            let nearest = reading.nearest(to: user.value, in: users.keys.sorted()).map { "did you mean '\($0)'?" }
            let help = nearest ?? "'users' has \(users.keys.sorted().prefix(12).joined(separator: ", "))"
            reading.error("there is no user \(Scalar.quoted(user.value)); \(help)", at: user.mark)
        }
        let read = PolicyCases(cases: cases, users: users)
        return (reading.errors == 0 ? read : nil, reading.diagnostics)
    }

    private init(cases: [(CaseDraft, RulePlace)], users: [String: Profile]) {
        self.cases = cases.map { (draft: $0.0, place: $0.1) }
        self.users = users
    }

    /// Compares each case with the decision of a configuration.
    package func results(by configuration: Configuration, at now: Instant) -> [Result] {
        self.cases.map { one in
            var question = PolicyQuestion(
                app: one.draft.app ?? "",
                profile: one.draft.user.flatMap { self.users[$0.value] },
                path: one.draft.path ?? "/",
                time: one.draft.time ?? now
            )
            question.method = one.draft.method ?? "GET"
            question.client = one.draft.client
            (question.mcpMethod, question.mcpTool) = (one.draft.mcpMethod, one.draft.mcpTool)
            question.scopes = one.draft.scopes
            question.certificate = one.draft.certificate?.facts
            question.authenticated = one.draft.authenticated.map { question.time.advanced(by: .zero - $0) }
            question.passkeyUsed = one.draft.passkey.map { question.time.advanced(by: .zero - $0) }
            do throws(Failure) {
                let response = try question.response(of: configuration)
                return Result(
                    place: one.place,
                    decision: response.word.rawValue,
                    difference: one.draft.difference(from: response)
                )
            } catch {
                return Result(place: one.place, decision: nil, difference: error.detail)
            }
        }
    }
}

/// The file as it is written.
private struct CasesDraft: Sendable {
    var users: [Named<UserDraft>]?
    var cases: [CaseDraft]?
}

/// One case as the file has it.
private struct CaseDraft: Sendable {
    var mark = YAMLMark.start
    var app: String?
    var user: Located<String>?
    var path: String?
    var method: String?
    var client: IPAddress?
    var time: Instant?
    var authenticated: Duration?
    var passkey: Duration?
    var mcpMethod: String?
    var mcpTool: String?
    var scopes: [String]?
    var certificate: CertificateQuestion?
    var expect: PolicyWord?
    var rule: String?

    /// What differs; nil if nothing does.
    func difference(from response: PolicyResponse) -> String? {
        let place = response.decision.place
        if let expect, expect != response.word {
            return "expected \(expect.rawValue), found \(response.word.rawValue)\(place.map { " by \($0)" } ?? "")"
        }
        guard let rule else { return nil }
        let names = place.map { ["\($0.line)", "\($0)"] } ?? []
        return names.contains(rule)
            ? nil : "expected a decision by \(rule), found one by \(place.map { "\($0)" } ?? "none")"
    }
}

/// A user of the cases as the file has it.
private struct UserDraft: Sendable {
    var user: String?
    var email: String?
    var emailVerified = true
    var emailAuthoritative = true
    var groups: [String]?
    var groupsComplete = true
    var roles: [String]?
    var tenant: String?
    var claims: [Named<ClaimValue>]?

    func profile(_ reading: inout DecodingContext, at mark: YAMLMark) -> Profile? {
        guard let user, let colon = user.firstIndex(of: ":"), user.index(after: colon) < user.endIndex else {
            if let user { reading.error("\(Scalar.quoted(user)) is not a user key such as google:1047", at: mark) }
            return nil
        }
        let provider = String(user[..<colon])
        var profile = Profile(provider: provider, issuer: "", subject: String(user[user.index(after: colon)...]))
        profile.email = self.email
        profile.emailVerified = self.email != nil && self.emailVerified
        profile.emailAuthoritative = profile.emailVerified && self.emailAuthoritative
        profile.groups = self.groups ?? []
        profile.groupsComplete = self.groupsComplete
        profile.roles = self.roles ?? []
        profile.tenant = self.tenant
        for claim in self.claims ?? [] { profile.claims[claim.name] = claim.value }
        return profile
    }
}

extension Mapping<CasesDraft> {
    fileprivate static let cases = Mapping(
        "the file of cases",
        path: "cases",
        summary: "Users and cases.",
        make: { CasesDraft() },
        keys: [
            Key(
                "users",
                \.users,
                .entries(of: Mapping<UserDraft>.user.shape, named: "a mapping of names to users", rule: .ruleSetName),
                .init(),
                "The users, by names of your choice."
            ),
            Key(
                "cases",
                \.cases,
                .list(of: Mapping<CaseDraft>.one.shape, named: "a list of cases"),
                .init(isRequired: true),
                "The cases."
            ),
        ]
    )
}

extension Mapping<UserDraft> {
    fileprivate static let user = Mapping(
        "a user",
        path: "users.<name>",
        summary: "The profile of a user.",
        make: { UserDraft() },
        keys: [
            Key("user", \.user, .text, .init(isRequired: true, example: "google:1047"), "The user key."),
            Key("email", \.email, .text, .init(), "The email address."),
            Key("email_verified", over: \.emailVerified, .flag, .init(), "Whether the address is verified."),
            Key(
                "email_authoritative",
                over: \.emailAuthoritative,
                .flag,
                .init(),
                "Whether the provider is the authority for the address."
            ),
            Key("groups", \.groups, .list(of: .text, named: "a list of groups"), .init(), "The groups."),
            Key("groups_complete", over: \.groupsComplete, .flag, .init(), "Whether these are all groups."),
            Key("roles", \.roles, .list(of: .text, named: "a list of roles"), .init(), "The roles."),
            Key("tenant", \.tenant, .text, .init(), "The tenant."),
            Key(
                "claims",
                \.claims,
                .entries(of: .claimValue, named: "a mapping of claims to values", rule: .claimName),
                .init(),
                "The claims: for each a text or a list of texts."
            ),
        ]
    )
}

extension Shape<ClaimValue> {
    /// The value of a claim as cases have it; rules compare numbers and flags as text.
    fileprivate static let claimValue: Shape = {
        let one = Shape<String>.claimValue
        let texts = Shape<[String]>.list(of: one, named: "a value or a list of values")
        return Shape(texts.kind, schema: ["anyOf": [one.schema, texts.schema]]) { node, reading in
            guard case .scalar = node.content else { return texts.read(node, &reading).map(ClaimValue.list) }
            return one.read(node, &reading).map(ClaimValue.text)
        }
    }()
}

extension Mapping<CaseDraft> {
    fileprivate static let one = Mapping(
        "a case",
        path: "cases[]",
        summary: "A request and the expected decision.",
        make: { CaseDraft() },
        keys: [
            Key("app", \.app, .text, .init(isRequired: true, example: "wiki"), "The name of the app."),
            Key("as", located: \.user, .text, .init(), "The name of a user; without it there is no session."),
            Key("path", \.path, .text, .init(isRequired: true, example: "/"), "The path."),
            Key("method", \.method, .text, .init(), "The method."),
            Key("client", \.client, .clientIP, .init(), "The client IP."),
            Key("time", \.time, .instant, .init(), "The time."),
            Key(
                "authenticated",
                \.authenticated,
                .duration(.zero...(.seconds(3650 * 86_400))),
                .init(),
                "How long ago the user authenticated."
            ),
            Key(
                "passkey",
                \.passkey,
                .duration(.zero...(.seconds(3650 * 86_400))),
                .init(),
                "How long ago the user used a passkey; without it, never."
            ),
            Key("mcp_method", \.mcpMethod, .text, .init(), "The method of the message to an MCP server."),
            Key("mcp_tool", \.mcpTool, .text, .init(), "The tool that the message calls."),
            Key(
                "scopes",
                \.scopes,
                .list(of: .text, named: "a list of scopes"),
                .init(),
                "What the access token of a client permits, `[]` for no scope; without it, the request has the user's own session."
            ),
            Key(
                "certificate",
                \.certificate,
                Mapping<CertificateQuestion>.question.shape,
                .init(),
                "The verified certificate of the client; without it, none."
            ),
            Key("expect", \.expect, .oneOf("a decision"), .init(isRequired: true, example: "allowed"), "The decision."),
            Key("rule", \.rule, .text, .init(), "The line of the rule that decides, or its file and line."),
        ],
        check: { one, written, _ in one.mark = written.mark }
    )
}

extension Shape<IPAddress> {
    fileprivate static let clientIP = single("an IP address") { text throws(InvalidValue) in
        guard let address = IPAddress(text) else { throw InvalidValue("is not an IP address such as 192.0.2.7") }
        return address
    }
}
