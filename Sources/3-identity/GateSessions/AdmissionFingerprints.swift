// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The fingerprints of the settings that decide which users each provider admits.
///
/// A session holds the fingerprint of its provider from the sign-in. When the settings have changed since, the session
/// is no longer valid and the user signs in again.
package struct AdmissionFingerprints: Sendable, Hashable {
    private let current: [String: String]

    /// The fingerprints in force, by the names of the providers.
    package init(_ current: [String: String]) {
        self.current = current
    }

    /// The fingerprint of some settings, 22 characters of base64url.
    ///
    /// - Parameter terms: The settings, each a name and a value, in a fixed order.
    /// - Returns: The fingerprint.
    package static func fingerprint(of terms: [(name: String, value: String)]) -> String {
        let text = terms.map { "\($0.name.utf8.count):\($0.name)\($0.value.utf8.count):\($0.value)" }.joined()
        return Base64URL.encode(digest("admission", text.utf8).prefix(16))
    }

    /// The fingerprint in force for a provider; nil if there is no such provider.
    func fingerprint(of provider: String) -> String? { self.current[provider] }

    /// Whether the settings that admitted a session are still in force.
    func admits(_ session: Session) -> Bool {
        guard let current = self.current[session.provider] else { return false }
        return current == session.admission
    }
}
