// SPDX-License-Identifier: Apache-2.0

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
}
