// SPDX-License-Identifier: Apache-2.0

internal import CArgon2
internal import GateCore

/// The calls of libargon2, each of which takes as long and as much memory as its cost demands; see ``PasswordWorkers``.
enum Argon2 {
    /// The length of a hash in bytes.
    private static let hashLength = 32

    /// The hash of a password with a salt; nil if the library fails, for lack of memory for example.
    static func hash(_ password: Secret, salt: [UInt8], cost: PasswordCost) -> PasswordHash? {
        let length = argon2_encodedlen(
            cost.passes,
            cost.memory,
            cost.lanes,
            UInt32(salt.count),
            UInt32(Argon2.hashLength),
            Argon2_id
        )
        var text = [CChar](repeating: 0, count: Int(length))
        let result = password.withBytes { bytes in
            unsafe argon2id_hash_encoded(
                cost.passes,
                cost.memory,
                cost.lanes,
                bytes,
                bytes.count,
                salt,
                salt.count,
                Argon2.hashLength,
                &text,
                text.count
            )
        }
        guard result == ARGON2_OK.rawValue else { return nil }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return PasswordHash(phc: String(decoding: bytes, as: UTF8.self))
    }

    /// Whether a hash is that of a password; nil if the library fails.
    static func verify(_ password: Secret, _ hash: PasswordHash) -> Bool? {
        let result = password.withBytes { bytes in unsafe argon2id_verify(hash.text, bytes, bytes.count) }
        switch result {
        case ARGON2_OK.rawValue: return true
        case ARGON2_VERIFY_MISMATCH.rawValue: return false
        default: return nil
        }
    }
}
