// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// Time-based one-time passwords: SHA-1, 30 seconds, six digits, as authenticator apps expect.
///
/// RFC 6238, RFC 4226.
package enum TimeCode {
    /// The length of a secret in bytes.
    ///
    /// RFC 4226 §4, requirement R6.
    static let secretLength = 20
    private static let step: Int64 = 30
    /// How many steps before and after the present one are accepted.
    private static let window: Int64 = 1

    static func code(_ secret: Secret, step: Int64) -> String {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (8 * (7 - $0))) }
        let hash = secret.withBytes {
            Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: $0)))
        }
        let offset = Int(hash[19] & 15)
        let number = hash[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = "\(number % 1_000_000)"
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// The time step whose code a user has typed, if it is a present one after `last`.
    static func step(of typed: String, _ secret: Secret, at now: Instant, after last: Int64) -> Int64? {
        let text = typed.filter { $0 != " " }
        guard text.utf8.count == 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let present = now.seconds / self.step
        let steps = ((present - self.window)...(present + self.window)).filter { $0 > last }
        // All are compared, so that the time does not depend on which one it is.
        return steps.filter { constantTimeEquals(Array(self.code(secret, step: $0).utf8), Array(text.utf8)) }.last
    }

    /// A secret as users type it: Base32 without padding.
    ///
    /// RFC 4648 §6.
    package static func text(of secret: Secret) -> String {
        secret.withBytes { base32($0) }
    }

    /// The link by which an authenticator app takes a secret over.
    ///
    /// https://github.com/google/google-authenticator/wiki/Key-Uri-Format
    package static func link(_ secret: Secret, issuer: String, account: String) -> String {
        let label = PercentEncoding.encode("\(issuer):\(account)")
        let name = PercentEncoding.encode(issuer)
        return
            "otpauth://totp/\(label)?secret=\(self.text(of: secret))&issuer=\(name)&algorithm=SHA1&digits=6&period=30"
    }
}

/// Base32 without padding.
///
/// RFC 4648 §6.
func base32(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    var (text, buffer, bits) = ([UInt8](), UInt32(0), 0)
    for byte in bytes {
        (buffer, bits) = (buffer << 8 | UInt32(byte), bits + 8)
        while bits >= 5 {
            bits -= 5
            text.append(alphabet[Int(buffer >> UInt32(bits)) & 31])
        }
    }
    if bits > 0 { text.append(alphabet[Int(buffer << UInt32(5 - bits)) & 31]) }
    return String(decoding: text, as: UTF8.self)
}

/// The codes for the loss of the device: each works once.
enum RecoveryCode {
    /// How many there are.
    static let count = 10

    /// New codes: 50 random bits each, as `ABCDE-FGHIJ`.
    static func make(from random: RandomBytes) -> [String] {
        (0..<self.count).map { _ in
            let text = base32(random.bytes(7)).prefix(10)
            return "\(text.prefix(5))-\(text.suffix(5))"
        }
    }

    /// The hash of a code, however it is typed; nil if it cannot be one.
    static func hash(of typed: String, account id: String) -> [UInt8]? {
        guard typed.utf8.count <= 32 else { return nil }
        let text = typed.uppercased().filter { $0 != "-" && $0 != " " }
        guard text.utf8.count == 10 else { return nil }
        return accountDigest("recovery-code", "\(id):\(text)".utf8)
    }
}
