// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
package import GateYAML

/// A grant by its name in the file.
enum GrantName: String, Sendable, CaseIterable {
    /// The code flow.
    case authorizationCode = "authorization_code"
    case refreshToken = "refresh_token"
    /// A sign-in on another device.
    case deviceCode = "device_code"
    /// Another token.
    case tokenExchange = "token_exchange"

    var type: GrantType {
        switch self {
        case .authorizationCode: .authorizationCode
        case .refreshToken: .refreshToken
        case .deviceCode: .deviceCode
        case .tokenExchange: .tokenExchange
        }
    }
}

extension NameRule {
    /// The names of clients, which are client ids: never a URL, since such a client id is that of a metadata document.
    package static let clientName = NameRule(subject: "the name of a client", pattern: "^[A-Za-z0-9._\\-]{1,64}$") {
        name in
        let isLegal = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "._-".utf8.contains(byte)
        }
        guard isLegal else { return "as its client id it may hold A to Z, a to z, 0 to 9, '.', '_', '-'" }
        return (1...64).contains(name.utf8.count) ? nil : "as its client id it may have 1 to 64 characters"
    }
}

extension Shape<[GrantName]> {
    /// The grants of a client.
    static let grants = Shape.set(
        of: .oneOf(
            "a grant",
            otherwise: [
                GrantType.deviceCode.rawValue: "device_code", GrantType.tokenExchange.rawValue: "token_exchange",
                "code": "authorization_code", "refresh": "refresh_token", "device": "device_code",
            ]
        ),
        named: "a list of grants",
        limit: GrantName.allCases.count
    ).whole
}

extension Shape<RedirectURI> {
    /// A redirect URI of some client.
    static let redirectURI = single("a redirect URI", pattern: #"^[a-z][a-z0-9+.\-]*:/[!-~]*$"#) {
        text throws(InvalidValue) in
        do throws(RedirectURIFailure) {
            return try RedirectURI(text)
        } catch {
            throw InvalidValue(error.message)
        }
    }
}

extension Shape<[Located<RedirectURI>]> {
    /// The redirect URIs of a client.
    static let redirectURIs = Shape.oneOrMany(
        of: Shape<RedirectURI>.redirectURI.located,
        named: "a redirect URI or a list of them"
    )
}

extension Shape<String> {
    /// The audience of a token that is not for an app.
    static let tokenAudience = single("an audience", pattern: "^[!-~]{1,255}$") { text throws(InvalidValue) in
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidValue("is not 1 to 255 printable ASCII characters without spaces")
        }
        return text
    }

    /// An app of Apple's systems.
    fileprivate static let appleApp = single("an app id", pattern: #"^[A-Z0-9]{10}\.[A-Za-z0-9.\-]{1,155}$"#) {
        text throws(InvalidValue) in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let isTeam =
            parts[0].count == 10 && parts[0].allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        let bundle = parts.count > 1 ? parts[1] : ""[...].utf8
        let isBundle = bundle.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || ".-".utf8.contains(byte)
        }
        guard isTeam, isBundle, (1...155).contains(bundle.count) else {
            throw InvalidValue("is not a team id and a bundle id, such as ABCDE12345.com.example.notes")
        }
        return text
    }

    fileprivate static let androidPackage = single(
        "a package",
        pattern: #"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$"#
    ) {
        text throws(InvalidValue) in
        guard AndroidApp.isPackage(text) else { throw InvalidValue("is not a package such as com.example.notes") }
        return text
    }

    fileprivate static let fingerprint = single("a fingerprint", pattern: "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$") {
        text throws(InvalidValue) in
        guard AndroidApp.isFingerprint(text) else {
            throw InvalidValue(
                "is not a SHA-256 fingerprint: 32 pairs of hexadecimal digits with colons, as 'keytool -list -v' prints it"
            )
        }
        return text
    }
}

extension Shape<[String]> {
    /// The apps of a client for Apple's systems.
    static let appleApps = Shape.set(of: .appleApp, named: "a list of app ids", limit: 16)
}

/// One of `clients.<name>.android_apps` as the file has it.
struct AndroidAppDraft: Sendable {
    fileprivate var package: String?
    fileprivate var fingerprints: [String]?

    /// The app; nil if a part is missing or invalid.
    var app: AndroidApp? {
        guard let package, let fingerprints else { return nil }
        return AndroidApp(package: package, fingerprints: fingerprints)
    }
}

extension Mapping<AndroidAppDraft> {
    fileprivate static let androidApp = Mapping(
        "an Android app",
        path: "clients.<name>.android_apps[]",
        summary: "An Android app to which links to the redirect URIs belong.",
        make: { AndroidAppDraft() },
        keys: [
            Key(
                "package",
                \.package,
                .androidPackage,
                .init(isRequired: true, example: "com.example.notes"),
                "Its package."
            ),
            Key(
                "fingerprints",
                \.fingerprints,
                Shape<[String]>.set(of: .fingerprint, named: "a list of fingerprints", limit: 16).whole,
                .init(isRequired: true),
                "The SHA-256 fingerprints of the certificates that it is signed with, as `keytool -list -v` prints them."
            ),
        ],
        check: { draft, written, reading in
            guard draft.fingerprints?.isEmpty ?? false else { return }
            let mark = written.keys["fingerprints"] ?? written.mark
            reading.error("'fingerprints' is an empty list; write at least one", at: mark)
        }
    )
}

extension Shape<[AndroidAppDraft]> {
    /// The apps of a client for Android.
    static let androidApps = Shape.list(of: Mapping<AndroidAppDraft>.androidApp.shape, named: "a list of Android apps")
}
