// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The quirks of the pins in the gateway's file.
enum PinQuirk {
    static let wrong = DemoQuirk(
        "wrong-pin",
        of: "google",
        "The file's pins do not match Google's key, as after an unannounced change of keys; the gateway sends nothing "
            + "there, raises pin.mismatch and offers the other providers.",
    )
    static let backup = DemoQuirk(
        "backup-pin",
        of: "google",
        "Google uses the key of the file's backup pin, as after a planned change of keys; users sign in, and the gateway "
            + "raises pin.backup_matched until the file has a new backup.",
    )
    static let quirks = [Self.wrong, Self.backup]

    /// The pins of a provider in the gateway's file, the one in use first unless a quirk changes that.
    static func pins(_ pins: DemoPins, provider: String, quirks: DemoQuirks) -> [String] {
        guard provider == "google" else { return [pins.used, pins.backup] }
        if quirks.contains(self.wrong) { return [pins.backup, DemoPins.pin(of: P256.Signing.PrivateKey().publicKey)] }
        return quirks.contains(self.backup) ? [pins.backup, pins.used] : [pins.used, pins.backup]
    }
}
