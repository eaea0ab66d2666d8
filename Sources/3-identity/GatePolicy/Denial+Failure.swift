// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Decision.Denial {
    /// The failure of a denied request.
    package func failure(of profile: Profile, app: String) -> Failure {
        let who = "\(profile.user) may not enter \(app)"
        return switch self {
        case .notAllowed:
            Failure(.policyRefused, "\(who): no entry of allow matches")
        case .emailNotAuthoritative(let place):
            Failure(
                .policyEmailNotAuthoritative,
                "\(who): allow\(Self.text(place)) fits a verified address, but "
                    + "\(profile.provider) is not the authority for this one (email_authoritative is false); if that is "
                    + "enough, write 'authoritative: false' there"
            )
        case .denyEntry(let place), .unknown(.connectedAccount, let place):
            Failure(.policyDenied, "\(who): deny\(Self.text(place))")
        case .unknown(.email, let place), .unknown(.emailAuthority, let place):
            Failure(
                .policyEmailUnknown,
                "\(who): deny\(Self.text(place)) asks for an address, and \(profile.provider) sent no verified one"
            )
        case .unknown(.groups, let place), .unknown(.keptGroups, let place):
            Failure(
                .policyGroupsUnknown,
                "\(who): deny\(Self.text(place)) asks for a group, and \(profile.provider) did not send all of them"
            )
        case .certificateNeeded(let place):
            Failure(
                .policyCertificate,
                "\(who): allow\(Self.text(place)) asks for \(UnknownFact.certificate.words)"
            )
        case .unknown(.certificate, let place):
            Failure(.policyCertificate, "\(who): deny\(Self.text(place)) asks for \(UnknownFact.certificate.words)")
        case .unknown(let fact, let place):
            Failure(.policyFactUnknown, "\(who): deny\(Self.text(place)) asks for \(fact.words)")
        case .ambiguousPath:
            Failure(.pathAmbiguous, "a server could read the path as one for which \(app) has another decision")
        }
    }

    private static func text(_ place: RulePlace?) -> String { place.map { " at \($0)" } ?? "" }
}

extension UnknownFact {
    /// What is asked for and why it is unknown, in words.
    package var words: String {
        switch self {
        case .email: "an email address, and the provider sent no verified one"
        case .groups: "a group, and the provider did not send all of them"
        case .roles: "a role, and the provider does not send all of them"
        case .tenant: "a tenant, and the provider sent none"
        case .organization: "an organization, and the provider does not send those of its users"
        case .client: "the network of the client, whose IP is not known"
        case .authentication: "the time of the authentication, which is not known"
        case .message: "a message to an MCP server, and the request has none that the gateway has read"
        case .keptGroups: "a group that no rule named at the sign-in; a new sign-in settles it"
        case .emailAuthority: "an email address that the provider only verified once"
        case .claim: "a claim that the user does not have; a new sign-in may bring it"
        case .certificate: "a certificate of the client, and the request came with none that was verified"
        case .connectedAccount: "another account, with which the user has connected the one of the sign-in"
        }
    }
}
