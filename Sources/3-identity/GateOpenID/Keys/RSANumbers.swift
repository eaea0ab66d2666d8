// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Modulus and exponent of a published RSA key.
///
/// RFC 7518 §6.3.1.
struct RSANumbers: Sendable {
    /// Without leading zeros.
    let modulus: [UInt8]
    /// Without leading zeros.
    let exponent: [UInt8]

    /// Reads the numbers; nil if one is missing or no number.
    init?(_ json: JSON) {
        guard let n = JSONWebKey.bytes(json["n"]), let e = JSONWebKey.bytes(json["e"]) else { return nil }
        self.modulus = Array(n.drop { $0 == 0 })
        self.exponent = Array(e.drop { $0 == 0 })
    }

    /// Why the key is not used: weak, or slow on purpose; nil if it is good.
    ///
    /// 2048 to 8192 bits, an odd modulus, and an odd exponent from 65537 to 2^32.
    var weakness: String? {
        guard (2048...8192).contains(self.bits) else { return "RSA of \(self.bits) bits, 2048 to 8192 are taken" }
        guard let last = self.modulus.last, last & 1 == 1 else { return "RSA with an even modulus" }
        guard (1...4).contains(self.exponent.count), let value = self.smallExponent, value & 1 == 1 else {
            return "RSA with an exponent that is even, zero or over 32 bits"
        }
        guard value >= 65_537 else { return "RSA with the exponent \(value), at least 65537 is taken" }
        return self.hasROCA
            ? "RSA made by a faulty chip, whose private key can be computed (ROCA, CVE-2017-15361)" : nil
    }

    private var bits: Int { self.modulus.count * 8 - (self.modulus.first?.leadingZeroBitCount ?? 0) }

    private var smallExponent: UInt64? {
        self.exponent.isEmpty ? nil : self.exponent.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    /// Whether the modulus is a power of 65537 modulo each of the first odd primes, as those of the faulty generator are.
    ///
    /// One good key in a hundred million is. https://crocs.fi.muni.cz/public/papers/rsa_ccs17
    private var hasROCA: Bool {
        RSANumbers.primes.allSatisfy { prime in
            let rest = self.modulus.reduce(0) { ($0 << 8 | Int($1)) % prime }
            return RSANumbers.powers(modulo: prime).contains(rest)
        }
    }

    private static let primes = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]

    private static func powers(modulo prime: Int) -> Set<Int> {
        var powers: Set<Int> = []
        var power = 1
        while powers.insert(power).inserted { power = power * 65_537 % prime }
        return powers
    }
}
