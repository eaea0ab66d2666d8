// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A fact about a user that a rule can ask for, beside those that all rules distinguish (``FactBasis``).
enum UserFact: Sendable, Hashable {
    /// The user key.
    case user(ExactText)
    /// The verified email address.
    case email(EmailAddress)
    /// The domain of the verified email address.
    case emailDomain(ExactText)
    case group(ExactText)
    case role(ExactText)
    case tenant(ExactText)
    /// The user has a claim of this name.
    case hasClaim(ExactText)
    /// One of the texts of a claim.
    case claim(ExactText, ExactText)
    /// The user authenticated at most so long ago.
    case authenticated(within: Duration)

    /// The facts that an entry asks for itself.
    static func named(by entry: AccessEntry) -> [UserFact] {
        var facts: [UserFact] = []
        if let user = entry.user { facts.append(.user(ExactText(user))) }
        if let email = entry.email { facts.append(.email(email)) }
        if let domain = entry.emailDomain { facts.append(.emailDomain(ExactText(domain))) }
        if let group = entry.group { facts.append(.group(ExactText(group))) }
        if let role = entry.role { facts.append(.role(ExactText(role))) }
        if let tenant = entry.tenant { facts.append(.tenant(ExactText(tenant))) }
        if let organization = entry.organization {
            facts += [.tenant(ExactText(organization)), .group(ExactText(organization))]
        }
        for condition in entry.claims {
            let name = ExactText(condition.name)
            facts.append(.hasClaim(name))
            facts += condition.values.map { .claim(name, ExactText($0)) }
        }
        for case .authenticated(let limit) in entry.request { facts.append(.authenticated(within: limit)) }
        return facts
    }
}

/// A text that equals another one only if both are the same bytes, as rules compare names.
struct ExactText: Sendable, Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: ExactText, right: ExactText) -> Bool { isIdentical(left.text, right.text) }

    /// Texts that look the same have one hash; they are compared.
    func hash(into hasher: inout Hasher) { hasher.combine(self.text) }
}

/// What all rules can distinguish about a user, whatever they name.
struct FactBasis: Sendable, Hashable {
    private let provider: String
    private let hasVerifiedEmail: Bool
    private let isEmailAuthoritative: Bool
    private let hasAllGroups: Bool
    private let hasAllRoles: Bool
    private let hasTenant: Bool
    private let hasAuthenticated: Bool
    /// Which of the named groups were looked for; nil for all.
    private let requested: Set<ExactText>?

    init(of profile: Profile) {
        self.provider = profile.provider
        self.hasVerifiedEmail = profile.verifiedEmail != nil
        self.isEmailAuthoritative = profile.emailAuthoritative
        self.hasAllGroups = profile.groupsComplete
        self.hasAllRoles = profile.rolesComplete
        self.hasTenant = profile.tenant != nil
        self.hasAuthenticated = profile.authTime != nil
        self.requested = profile.groupsRequested.map { Set($0.map(ExactText.init)) }
    }
}
