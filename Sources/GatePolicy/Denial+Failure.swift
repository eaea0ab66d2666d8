// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Decision.Denial {
    /// The failure of a denied request.
    package func failure(of profile: Profile, app: String) -> Failure {
        switch self {
        case .notAllowed:
            Failure(.policyRefused, "\(profile.user) may not enter \(app)")
        case .emailNotAuthoritative(let line):
            Failure(
                .policyEmailNotAuthoritative,
                "\(profile.user) may not enter \(app): allow\(Self.place(line)) fits a verified address, but "
                    + "\(profile.provider) is not the authority for this one (email_authoritative is false); if that is "
                    + "enough, write 'authoritative: false' there"
            )
        case .denyEntry(let line):
            Failure(.policyDenied, "\(profile.user) may not enter \(app): deny\(Self.place(line))")
        case .unknown(.email, let line), .unknown(.emailAuthority, let line):
            Failure(
                .policyEmailUnknown,
                "\(profile.user) may not enter \(app): deny\(Self.place(line)) asks for an address, and "
                    + "\(profile.provider) sent no verified one"
            )
        case .unknown(.groups, let line), .unknown(.keptGroups, let line):
            Failure(
                .policyGroupsUnknown,
                "\(profile.user) may not enter \(app): deny\(Self.place(line)) asks for a group, and "
                    + "\(profile.provider) did not send all of them"
            )
        }
    }

    private static func place(_ line: Int?) -> String { line.map { " in line \($0)" } ?? "" }
}
