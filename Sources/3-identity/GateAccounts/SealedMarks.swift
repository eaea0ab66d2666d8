// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The mark of a browser from which the user of an account has signed in, in a cookie.
///
/// It admits no user: it only gives the browser a limit of its own; see ``PasswordThrottle``.
package struct DeviceMark: Sendable, Hashable {
    /// How long a mark is accepted.
    package static let lifetime = Duration.seconds(180 * 86_400)
    private static let purpose = "accounts/device"

    let account: String
    /// The generation of its credentials: after a change the browser counts as unknown until the next sign-in.
    let generation: Int64
    /// Random bytes of the browser.
    let id: [UInt8]
    private let provider: String
    private let expires: Instant

    private init(account: String, generation: Int64, id: [UInt8], provider: String, expires: Instant) {
        (self.account, self.generation, self.id) = (account, generation, id)
        (self.provider, self.expires) = (provider, expires)
    }

    /// Opens the value of the cookie; nil if it is not of this provider, or over.
    package init?(_ text: String, of accounts: LocalAccounts) {
        guard let json = accounts.sealer.openMark(text, for: DeviceMark.purpose),
            json["provider"]?.string == accounts.provider, let account = json["account"]?.string,
            let generation = json["generation"]?.integer, let id = json["id"]?.string.flatMap({ Base64URL.decode($0) }),
            let expires = json["expires"]?.integer,
            accounts.clock.now < Instant(seconds: expires)
        else { return nil }
        (self.account, self.generation, self.id) = (account, generation, id)
        (self.provider, self.expires) = (accounts.provider, Instant(seconds: expires))
    }

    /// The value of the cookie.
    private func sealed(by sealer: Sealer) -> String {
        sealer.mark(
            [
                "provider": .string(self.provider), "account": .string(self.account),
                "generation": .int(self.generation), "id": .string(Base64URL.encode(self.id)),
                "expires": .int(self.expires.seconds),
            ],
            for: DeviceMark.purpose
        )
    }

    /// The value of the cookie for the browser of a user who has signed in; one that it has is kept in part.
    package static func renewed(_ known: DeviceMark?, for account: Account, at accounts: LocalAccounts) -> String {
        let id = known.flatMap { $0.account == account.id ? $0.id : nil } ?? accounts.random.bytes(16)
        let expires = accounts.clock.now.advanced(by: DeviceMark.lifetime)
        let mark = DeviceMark(
            account: account.id,
            generation: account.generation,
            id: id,
            provider: accounts.provider,
            expires: expires
        )
        return mark.sealed(by: accounts.sealer)
    }
}

/// The proof that the password of an account was right, in the form that asks for the code; bound to a sign-in attempt.
package struct PasswordProof: Sendable, Hashable {
    private static let lifetime = Duration.seconds(300)
    private static let purpose = "accounts/password-proof"

    let account: String
    /// The generation of its credentials.
    let generation: Int64

    /// Opens a proof; nil if it belongs to another attempt or provider, or is over.
    package init?(_ text: String, attempt: String, of accounts: LocalAccounts) {
        guard let json = accounts.sealer.openMark(text, for: PasswordProof.purpose),
            json["provider"]?.string == accounts.provider, json["attempt"]?.string == attempt,
            let account = json["account"]?.string, let generation = json["generation"]?.integer,
            let expires = json["expires"]?.integer, accounts.clock.now < Instant(seconds: expires)
        else { return nil }
        (self.account, self.generation) = (account, generation)
    }

    package static func text(for account: Account, attempt: String, of accounts: LocalAccounts) -> String {
        accounts.sealer.mark(
            [
                "provider": .string(accounts.provider), "attempt": .string(attempt), "account": .string(account.id),
                "generation": .int(account.generation),
                "expires": .int(accounts.clock.now.advanced(by: PasswordProof.lifetime).seconds),
            ],
            for: PasswordProof.purpose
        )
    }
}

/// A new secret of time-based codes, in the form that asks for the first code; bound to an account.
package struct EnrolmentSecret: Sendable {
    private static let lifetime = Duration.seconds(900)
    private static let purpose = "accounts/enrolment"

    package let secret: Secret

    package init(from accounts: LocalAccounts) {
        self.secret = Secret(accounts.random.bytes(TimeCode.secretLength))
    }

    /// Opens one; nil if it is for another account, or over.
    package init?(_ text: String, for account: Account, of accounts: LocalAccounts) {
        guard let json = accounts.sealer.openMark(text, for: EnrolmentSecret.purpose),
            json["account"]?.string == account.id, json["generation"]?.integer == account.generation,
            let expires = json["expires"]?.integer, accounts.clock.now < Instant(seconds: expires),
            let secret = json["secret"]?.string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        self.secret = Secret(secret)
    }

    /// The text in the form.
    package func sealed(for account: Account, of accounts: LocalAccounts) -> String {
        accounts.sealer.mark(
            [
                "account": .string(account.id), "generation": .int(account.generation),
                "secret": .string(self.secret.withBytes { Base64URL.encode($0) }),
                "expires": .int(accounts.clock.now.advanced(by: EnrolmentSecret.lifetime).seconds),
            ],
            for: EnrolmentSecret.purpose
        )
    }
}

extension Sealer {
    /// Longer texts are rejected before they are decoded.
    private static let maxMark = 1024

    func mark(_ members: [String: JSON], for purpose: String) -> String {
        Base64URL.encode(self.seal(JSON.object(members).encoded, for: purpose))
    }

    func openMark(_ text: String, for purpose: String) -> JSON? {
        guard text.utf8.count <= Sealer.maxMark, let sealed = Base64URL.decode(text) else { return nil }
        return self.open(sealed, for: purpose).flatMap { try? JSON(parsing: $0, depth: 1) }
    }
}
