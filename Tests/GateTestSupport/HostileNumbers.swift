// SPDX-License-Identifier: Apache-2.0

/// Numbers that a broken or hostile token, store, header or file may have.
package enum HostileNumbers {
    /// Whole numbers at the ends of what is common, and of what fits.
    package static let integers: [Int64] = [
        .min, .min + 1, -9_223_372_036_854_775, -(1 << 53), -62_135_596_801, -1, 0, 1, 1 << 31, 1 << 32,
        1_800_000_000, 1_800_000_000_000, 253_402_300_799, 253_402_300_800, 9_223_372_036, 9_223_372_037,
        1 << 53, 1 << 53 + 1, 9_223_372_036_854_775, 9_223_372_036_854_776, .max / 2, .max / 2 + 1, .max - 1, .max,
    ]

    /// A few of the texts, for tests that start a process for each.
    package static let few = [
        "-9223372036854775808", "9223372036854775807", "9223372036854775808", "-1", "1e400", "NaN", "",
    ]

    /// Numbers as a JSON document can have them.
    package static let json =
        integers.map { "\($0)" } + [
            "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e18", "1e19", "1e308", "1e400",
            "-1e400",
            "1e-400", "-0", "0.5", "-0.5", "1.8e9", "9.3e18", "1" + String(repeating: "0", count: 62),
        ]

    /// The same, and texts that are not numbers.
    package static let texts =
        json + [
            "", " ", "NaN", "nan", "inf", "-inf", "Infinity", "0x7fffffff", "+1", " 1", "1 ", "1_000", "١٢٣", "--1",
            "1;2",
        ]
}
