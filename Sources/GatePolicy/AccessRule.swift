// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Who may enter an app.
package enum AccessRule: Sendable, Hashable {
    /// Every session of an accepted provider.
    case signedIn
    /// Whoever fits one of the entries.
    case entries([AccessEntry])

    /// The entry that admits the person, or nil if none does.
    package func admission(of person: Profile) -> Admission? {
        switch self {
        case .signedIn: Admission(line: nil)
        case .entries(let entries): entries.first { $0.fit(person) == .yes }.map { Admission(line: $0.line) }
        }
    }
}

/// That a person is admitted, and by which line of the file.
package struct Admission: Sendable, Hashable {
    /// The line of the entry in the configuration file, nil for `signed_in`.
    package let line: Int?

    /// An admission by the entry on a line.
    package init(line: Int?) {
        self.line = line
    }
}

/// Whether an entry fits a person.
package enum Fit: Sendable, Hashable {
    /// Every condition holds.
    case yes
    /// A condition does not hold.
    case no
    /// Nothing speaks against it, but it depends on groups that are not known.
    case unknown
}

/// One entry of an `allow` or a `deny` list: all its conditions must hold.
///
/// Only verified e-mail addresses count. An entry without conditions fits nobody.
package struct AccessEntry: Sendable, Hashable {
    /// The provider's name in the file.
    package var provider: String?
    /// The user key, `provider:subject`.
    package var user: String?
    /// The whole verified address.
    package var email: EmailAddress?
    /// The domain of the verified address, in lower case; compared as a whole.
    package var emailDomain: String?
    /// A group the person is in.
    package var group: String?
    /// Where the entry stands in the configuration file.
    package var line: Int?

    /// An entry without conditions yet.
    package init(line: Int? = nil) {
        self.line = line
    }

    /// Whether every condition holds for the person.
    ///
    /// A group that is not in an incomplete list is unknown: not enough to admit anybody, and not enough to let pass
    /// somebody whom a `deny` entry means.
    package func fit(_ person: Profile) -> Fit {
        guard self.hasCondition else { return .no }
        if let provider, !isIdentical(provider, person.provider) { return .no }
        if let user, !isIdentical(user, person.user) { return .no }
        if let email, email != person.verifiedEmail { return .no }
        if let emailDomain, emailDomain != person.verifiedEmail?.domain { return .no }
        if let group, !person.isInside(group: group) { return person.isOutside(group: group) ? .no : .unknown }
        return .yes
    }

    private var hasCondition: Bool {
        self.provider != nil || self.user != nil || self.email != nil || self.emailDomain != nil || self.group != nil
    }
}
