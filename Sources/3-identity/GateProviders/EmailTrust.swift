// SPDX-License-Identifier: Apache-2.0

/// How far a provider is trusted with email addresses.
struct EmailTrust: Sendable, Hashable {
    /// For which email addresses the provider is the authority, beyond having verified them once.
    enum Authority: Sendable, Hashable {
        /// The provider is it for no address.
        case none
        /// For these domains, and for verified addresses of accounts that have a tenant; so it is with Google.
        case domainsAndTenants([String])
        /// For every address whose `email_verified` chain is true, for those that the operator trusts the tenant with,
        /// and for these domains in accounts of ``EmailTrust/verifiedTenants``; so it is with Microsoft's `xms_edov` and
        /// personal accounts.
        case verifiedClaim(personal: [String])
    }

    /// Tenants, all of whose addresses are verified.
    var verifiedTenants: Set<String> = []
    /// Whether the operator trusts the administrators of the one tenant.
    var trustsUnmarked = false
    /// Who is the authority for an address.
    var authority = Authority.none
}
