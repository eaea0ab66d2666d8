// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which issuer a provider's metadata, callbacks, ID tokens and keys may name.
///
/// Issuers are compared as strings, byte for byte, never normalized. RFC 9207 §2.4, OpenID Connect Core §3.1.3.7.
package enum IssuerRule: Sendable, Hashable {
    /// One spelling.
    case exact(String)
    /// One spelling, but ID tokens may use another one as well; Google's do.
    case aliased(String, alias: String)
    /// One issuer per tenant, `{tenantid}` in the template being replaced by the `tid` claim.
    case tenanted(template: String, TenantRule)

    /// Which tenants of a template may sign in.
    package enum TenantRule: Sendable, Hashable {
        /// Every organization and every personal account.
        case any
        /// Every organization, no personal account.
        case organizations
        /// The tenant with this id, in lower case.
        case only(String)
        /// The tenants with these ids, in lower case, wherever the user was sent.
        case among(Set<String>)
        /// The tenant that the provider's metadata name for the configured domain.
        case discovered

        var admitsManyTenants: Bool {
            switch self {
            case .any, .organizations, .among: true
            case .only, .discovered: false
            }
        }
    }

    /// What a token's issuer leads to.
    package enum Verdict: Sendable, Hashable {
        /// The issuer is accepted; this is its canonical spelling.
        case accepted(String)
        /// The token is from somewhere else.
        case foreign
        /// The token is valid, but users of its tenant may not sign in.
        case tenantRefused
    }

    /// The tenant of all personal Microsoft accounts.
    package static let consumerTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"
    private static let placeholder = "{tenantid}"

    /// Whether metadata with this `issuer` belong to the provider.
    ///
    /// OpenID Connect Discovery §4.3.
    package func admits(discovered: String) -> Bool {
        switch self {
        case .exact(let issuer), .aliased(let issuer, _):
            isIdentical(discovered, issuer)
        case .tenanted(let template, .any), .tenanted(let template, .organizations), .tenanted(let template, .among):
            isIdentical(discovered, template)
        case .tenanted(let template, .only(let tenant)):
            isIdentical(discovered, IssuerRule.fill(template, tenant))
        case .tenanted(let template, .discovered):
            IssuerRule.tenant(of: discovered, in: template) != nil
        }
    }

    /// Whether a callback may carry this `iss`.
    ///
    /// RFC 9207 §2.4.
    package func admits(callback issuer: String, discovered: String) -> Bool {
        switch self {
        case .exact(let expected), .aliased(let expected, _):
            return isIdentical(issuer, expected)
        case .tenanted(let template, let rule):
            guard let tenant = IssuerRule.tenant(of: issuer, in: template) else { return false }
            return self.verdict(on: ["iss": .string(issuer), "tid": .string(tenant)], discovered: discovered)
                == .accepted(issuer) && (rule != .discovered || isIdentical(issuer, discovered))
        }
    }

    /// Whether the claims of a token have an accepted issuer; `discovered` is the issuer in the provider's metadata.
    package func verdict(on claims: JSON, discovered: String) -> Verdict {
        guard let issuer = claims["iss"]?.string else { return .foreign }
        switch self {
        case .exact(let expected):
            return isIdentical(issuer, expected) ? .accepted(expected) : .foreign
        case .aliased(let expected, let alias):
            let isOurs = isIdentical(issuer, expected) || isIdentical(issuer, alias)
            return isOurs ? .accepted(expected) : .foreign
        case .tenanted(let template, let rule):
            guard let tenant = claims["tid"]?.string, IssuerRule.isGUID(tenant),
                isIdentical(issuer, IssuerRule.fill(template, tenant))
            else { return .foreign }
            return IssuerRule.admits(tenant.lowercased(), issuer, by: rule, discovered)
                ? .accepted(issuer) : .tenantRefused
        }
    }

    /// Whether a key that names an issuer of its own may vouch for tokens of this issuer.
    ///
    /// Without this, a key of the personal accounts would verify tokens of every organization. So where many tenants may
    /// sign in, a key has to name its issuer.
    package func admits(keyIssuer: String?, for issuer: String) -> Bool {
        guard case .tenanted(let template, let rule) = self else { return true }
        guard let keyIssuer else { return !rule.admitsManyTenants }
        return isIdentical(keyIssuer, template) || isIdentical(keyIssuer, issuer)
    }

    /// The issuer as a profile names it; the token, if there is one, was verified before.
    package func canonical(for claims: JSON?) -> String {
        switch self {
        case .exact(let issuer), .aliased(let issuer, _): issuer
        case .tenanted(let template, _): claims?["iss"]?.string ?? template
        }
    }

    /// Whether the issuer of a profile is taken from the token, and not only compared with it.
    func isTaken(from claims: JSON?) -> Bool {
        guard case .tenanted = self else { return false }
        return claims?["iss"]?.string != nil
    }

    /// Whether the text is a GUID: 8-4-4-4-12 hexadecimal digits.
    package static func isGUID(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return false }
        return groups.allSatisfy { $0.allSatisfy { PercentEncoding.value(of: $0) != nil } }
    }

    private static func admits(_ tenant: String, _ issuer: String, by rule: TenantRule, _ discovered: String) -> Bool {
        switch rule {
        case .any: true
        case .organizations: tenant != self.consumerTenant
        case .only(let expected): isIdentical(tenant, expected)
        case .among(let expected): expected.contains(tenant)
        case .discovered: isIdentical(issuer, discovered)
        }
    }

    private static func fill(_ template: String, _ tenant: String) -> String {
        template.replacing(self.placeholder, with: tenant)
    }

    private static func tenant(of issuer: String, in template: String) -> String? {
        guard let mark = template.firstRange(of: self.placeholder) else { return nil }
        let head = template[..<mark.lowerBound]
        let tail = template[mark.upperBound...]
        guard issuer.hasPrefix(head), issuer.hasSuffix(tail), issuer.count >= head.count + tail.count else {
            return nil
        }
        let tenant = String(issuer.dropFirst(head.count).dropLast(tail.count))
        return self.isGUID(tenant) ? tenant : nil
    }
}
