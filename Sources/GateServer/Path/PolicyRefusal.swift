// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

extension Decision.Denial {
    /// The refusal as a visitor and the log are told of it.
    func failure(of person: Profile, app: String) -> Failure {
        switch self {
        case .notAllowed:
            Failure(.policyRefused, "\(person.user) may not enter \(app)")
        case .emailNotAuthoritative(let line):
            Failure(
                .policyEmailNotAuthoritative,
                "\(person.user) may not enter \(app): allow\(Self.place(line)) fits a verified address, but "
                    + "\(person.provider) is not the authority for this one (email_authoritative is false); if that is "
                    + "enough, write 'authoritative: false' there"
            )
        case .denyEntry(let line):
            Failure(.policyDenied, "\(person.user) may not enter \(app): deny\(Self.place(line))")
        case .unknown(.email, let line), .unknown(.emailAuthority, let line):
            Failure(
                .policyEmailUnknown,
                "\(person.user) may not enter \(app): deny\(Self.place(line)) asks for an address, and "
                    + "\(person.provider) told no verified one"
            )
        case .unknown(.groups, let line), .unknown(.keptGroups, let line):
            Failure(
                .policyGroupsUnknown,
                "\(person.user) may not enter \(app): deny\(Self.place(line)) asks for a group, and "
                    + "\(person.provider) did not tell all of them"
            )
        }
    }

    private static func place(_ line: Int?) -> String { line.map { " in line \($0)" } ?? "" }
}
