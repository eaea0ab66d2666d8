// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// The pins that the demo's file has for its providers.
struct DemoPins {
    /// Of the key that the simulated providers' server shows.
    let used: String
    /// Of a key that is kept for later.
    let backup: String

    /// SHA-256 over the SubjectPublicKeyInfo, in base64.
    ///
    /// RFC 7469 §2.4.
    static func pin(of key: P256.Signing.PublicKey) -> String {
        Data(SHA256.hash(data: key.derRepresentation)).base64EncodedString()
    }

    /// The lines of a provider's `tls` in the file.
    func lines(_ quirks: DemoQuirks, provider: String) -> [String] {
        var pins = [self.used, self.backup]
        if provider == PinQuirk.backup.provider, quirks.contains(PinQuirk.backup.name) { pins.reverse() }
        if provider == PinQuirk.wrong.provider, quirks.contains(PinQuirk.wrong.name) {
            pins = [self.backup, Self.pin(of: P256.Signing.PrivateKey().publicKey)]
        }
        return ["pins:", "  match: public_key", "  sha256:"] + pins.map { "    - \(quoted($0))" }
    }
}

/// What can be wrong with the pins of the demo's file.
enum PinQuirk {
    static let wrong = DemoQuirk(
        "wrong-pin",
        of: "google",
        "The file's pins are not those of Google's key, as after an exchange of keys that nobody noted; the gateway sends "
            + "nothing there, raises pin.mismatch and offers the other providers.",
    )
    static let backup = DemoQuirk(
        "backup-pin",
        of: "google",
        "Google shows the key of the file's backup pin, as after a planned exchange of keys; people sign in, and the gateway "
            + "raises pin.backup_matched until the file has a new backup.",
    )
    static let quirks = [Self.wrong, Self.backup]
}
