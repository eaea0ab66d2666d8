// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// A password as it is hashed: Unicode text in normal form KC, so that the same keys give the same password on every system.
///
/// NIST SP 800-63B §5.1.1.2.
package struct Password: Sendable, CustomStringConvertible {
    /// The number of bytes that are accepted; nothing is truncated.
    package static let maxBytes = 1024
    /// The minimum number of characters of a new password, counted in code points.
    package static let minLength = 12

    /// What is hashed.
    let secret: Secret
    /// The number of code points.
    let length: Int

    /// Reads what a user has typed; nil if it is longer than ``maxBytes``.
    package init?(_ typed: String) {
        guard typed.utf8.count <= Password.maxBytes else { return nil }
        let normal = typed.precomposedStringWithCompatibilityMapping
        // Some characters have up to eighteen in their place.
        guard normal.utf8.count <= 4 * Password.maxBytes else { return nil }
        self.secret = Secret(text: normal)
        self.length = normal.unicodeScalars.count
    }

    /// A mark instead of the text.
    package var description: String { "<password>" }
}

/// What a new password must be.
///
/// OWASP ASVS 4.0 V2.1: length, no rules of composition, nothing that is easily guessed or publicly known.
package struct PasswordRules: Sendable {
    /// Why a password is not accepted.
    package enum Finding: String, Sendable, CaseIterable {
        /// It has fewer than twelve characters.
        case short
        /// It has more than 1,024 bytes.
        case long
        /// It has fewer than five different characters.
        case repetitive
        /// It contains the name of the user or of the gateway.
        case personal
        /// It is one of those that are guessed first.
        case common
        /// It is in the list of known passwords.
        case breached
    }

    /// The minimum number of different characters.
    package static let minDifferent = 5
    /// Shorter names occur in other words.
    private static let minTerm = 4

    let host: String
    let breached: BreachedPasswords?

    /// Rules for accounts at a gateway of that host.
    package init(host: String, breached: BreachedPasswords?) {
        (self.host, self.breached) = (host, breached)
    }

    /// The first rule that a new password of an account breaks; nil if it breaks none.
    ///
    /// Reads a file, so it is called by a thread of ``PasswordWorkers``.
    func finding(about password: Password, of account: Account) throws(Failure) -> Finding? {
        guard password.length >= Password.minLength else { return .short }
        let text = password.secret.withText { $0.lowercased() }
        guard Set(text.unicodeScalars).count >= PasswordRules.minDifferent else { return .repetitive }
        guard !self.terms(of: account).contains(where: { text.contains($0) }) else { return .personal }
        guard !CommonPasswords.contain(text) else { return .common }
        guard let breached, try breached.contain(password.secret) else { return nil }
        return .breached
    }

    private func terms(of account: Account) -> [String] {
        let email = account.email.map { [$0, String($0.prefix { $0 != "@" })] } ?? []
        let names = (account.name ?? "").split { $0 == " " || $0 == "-" }.map(String.init)
        let gateway = [self.host, String(self.host.prefix { $0 != "." })]
        let all = email + names + [account.username ?? ""] + gateway
        return all.map { $0.precomposedStringWithCompatibilityMapping.lowercased() }
            .filter { $0.unicodeScalars.count >= PasswordRules.minTerm }
    }
}
