// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A service token: a random text that proves to be one client, of which the file has only the hash.
package enum ServiceToken {
    /// What every service token begins with, so that scanners for secrets find it and no other credential is taken for one.
    package static let prefix = "gth_"

    /// A new token with 256 random bits.
    package static func make(_ random: RandomBytes) -> String { "\(self.prefix)\(random.token(32))" }

    /// Whether a text has the form of a service token.
    package static func isOne(_ text: some StringProtocol) -> Bool {
        text.hasPrefix(self.prefix) && (self.prefix.utf8.count + 1...128).contains(text.utf8.count)
    }

    /// The hash of a token, SHA-256: a random text of this length cannot be found by trying.
    package static func hash(of token: some StringProtocol) -> [UInt8] { ContentDigest.sha256(of: token.utf8) }

    /// The hash as the file has it: `sha256:` and 64 hexadecimal digits.
    package static func text(of hash: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return "sha256:" + String(hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    /// Parses such a hash; nil for any other text.
    package static func hash(_ text: String) -> [UInt8]? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "sha256", parts[1].utf8.count == 64 else { return nil }
        let values = parts[1].utf8.compactMap { byte -> UInt8? in
            switch byte {
            case 0x30...0x39: byte - 0x30
            case 0x61...0x66: byte - 0x61 + 10
            default: nil
            }
        }
        guard values.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
}

/// One service token of the file.
package struct ServiceTokenSettings: Sendable, Hashable {
    /// The name, which is the subject of the user key.
    package var name: String
    package var hash: [UInt8]
    /// From when on it is not accepted; nil if it does not expire.
    package var expires: Instant?
    /// The groups of its user.
    package var groups: [String] = []
    /// The roles of its user.
    package var roles: [String] = []

    /// A token without groups that does not expire.
    package init(name: String, hash: [UInt8]) {
        self.name = name
        self.hash = hash
    }

    /// The user of the token; `issuer` is the URL of the gateway, which vouches for it.
    package func profile(issuer: String) -> Profile {
        var profile = Profile(provider: Profile.serviceTokenProvider, issuer: issuer, subject: self.name)
        profile.username = self.name
        profile.groups = self.groups.sorted()
        profile.roles = self.roles.sorted()
        return profile
    }

    package func isExpired(at now: Instant) -> Bool { self.expires.map { now >= $0 } ?? false }
}
