// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The pins of the root certificates that a large provider is known to use, under one name.
///
/// None of the providers promises to stay with these roots, so a preset reports unless the configuration enforces it.
package enum PinPreset: String, Sendable, CaseIterable {
    /// Google, its APIs included.
    case google = "google-roots"
    /// GitHub, its API included.
    case gitHub = "github-roots"
    /// Microsoft's sign-in and Microsoft Graph.
    case microsoft = "microsoft-roots"

    /// The name in the file.
    package var name: String { self.rawValue }

    /// The day that the list was compiled, from the certificates of Debian's `ca-certificates` 20230311.
    package var date: String { "2026-11-21" }

    /// The roots, in no order.
    package var roots: [KnownRoot] { KnownRoot.all.filter { self.names.contains($0.name) } }

    /// The pins of the roots, in no order.
    package var pins: [Pin] { self.roots.map(\.pin) }

    private var names: Set<String> {
        switch self {
        case .google:
            [
                "GTS Root R1", "GTS Root R2", "GTS Root R3", "GTS Root R4", "GlobalSign Root CA",
                "GlobalSign ECC Root CA - R4",
            ]
        case .gitHub:
            [
                "Sectigo Public Server Authentication Root E46", "Sectigo Public Server Authentication Root R46",
                "USERTrust ECC Certification Authority", "USERTrust RSA Certification Authority",
                "DigiCert Global Root G2", "DigiCert Global Root G3", "ISRG Root X1", "ISRG Root X2",
            ]
        case .microsoft:
            [
                "DigiCert Global Root CA", "DigiCert Global Root G2", "DigiCert Global Root G3",
                "DigiCert TLS ECC P384 Root G5", "DigiCert TLS RSA4096 Root G5",
                "Microsoft RSA Root Certificate Authority 2017", "Microsoft ECC Root Certificate Authority 2017",
            ]
        }
    }
}

/// A root certificate that many servers of the web chain up to.
package struct KnownRoot: Sendable, Hashable {
    /// Who issues under it, and may move a server from one of its roots to another.
    package enum Family: String, Sendable, CaseIterable {
        /// Amazon Trust Services, and Starfield Services before it.
        case amazon = "Amazon"
        case digiCert = "DigiCert"
        /// GlobalSign, without what it sold.
        case globalSign = "GlobalSign"
        /// Google Trust Services, which bought the ECC Root R4 of GlobalSign.
        case google = "Google Trust Services"
        /// The Internet Security Research Group: Let's Encrypt.
        case isrg = "ISRG"
        /// Microsoft, for its own servers.
        case microsoft = "Microsoft"
        /// Sectigo, and USERTrust before it.
        case sectigo = "Sectigo"
    }

    /// The common name, or what the certificate has for one.
    package let name: String
    /// Who issues under it.
    package let family: Family
    /// The hash of its public key.
    package let pin: Pin

    /// The root with that public key, or nil if it is not known.
    package static func named(_ pin: Pin) -> KnownRoot? { self.all.first { $0.pin == pin } }

    /// The other roots of the same family, those that most new certificates are issued under first.
    package static func siblings(of pin: Pin) -> [KnownRoot] {
        guard let root = self.named(pin) else { return [] }
        return self.all.filter { $0.family == root.family && $0.pin != pin }
    }

    /// All of them by family; within one, those that most new certificates are issued under first.
    package static let all: [KnownRoot] = table.flatMap { family, rows in
        rows.compactMap { name, text in Pin(base64: text).map { KnownRoot(name: name, family: family, pin: $0) } }
    }

    private static let table: KeyValuePairs<Family, KeyValuePairs<String, String>> = [
        .google: [
            "GTS Root R1": "hxqRlPTu1bMS/0DITB1SSu0vd4u/8l8TjPgfaAp63Gc=",
            "GTS Root R4": "mEflZT5enoR1FuXLgYYGqnVEoZvmf9c2bVBpiOjYQ0c=",
            "GTS Root R2": "Vfd95BwDeSQo+NUYxVEEIlvkOlWY2SalKK1lPhzOx78=",
            "GTS Root R3": "QXnt2YHvdHR3tJYmQIr0Paosp6t/nggsEGD4QJZ3Q0g=",
            "GlobalSign ECC Root CA - R4": "CLOmM1/OXvSPjw5UOYbAf9GKOxImEp9hhku9W90fHMk=",
        ],
        .globalSign: [
            "GlobalSign Root R46": "rn+WLLnmp9v3uDP7GPqbcaiRdd+UnCMrap73yz3yu/w=",
            "GlobalSign Root E46": "4EoCLOMvTM8sf2BGKHuCijKpCfXnUUR/g/0scfb9gXM=",
            "GlobalSign Root CA - R6": "aCdH+LpiG4fN07wpXtXKvOciocDANj0daLOJKNJ4fx4=",
            "GlobalSign Root CA - R3": "cGuxAXyFXFkWm61cF4HPWX8S0srS9j0aSqN0k4AP+4A=",
            "GlobalSign Root CA": "K87oWBWM9UZfyddvDfoxL+8lpNyoUB2ptGtn0fv6G2Q=",
        ],
        .digiCert: [
            "DigiCert Global Root G2": "i7WTqTvh0OioIruIfFR4kMPnBqrS2rdiVPl/s2uC/CY=",
            "DigiCert Global Root G3": "uUwZgwDOxcBXrQcntwu+kYFpkiVkOaezL0WYEZ3anJc=",
            "DigiCert TLS RSA4096 Root G5": "ape1HIIZ6T5d7GS61YBs3rD4NVvkfnVwELcCRW4Bqv0=",
            "DigiCert TLS ECC P384 Root G5": "oC+voZLIy4HLE0FVT5wFtxzKKokLDRKY1oNkfJYe+98=",
            "DigiCert Global Root CA": "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=",
            "DigiCert High Assurance EV Root CA": "WoiWRyIOVNa9ihaBciRSC7XHjliYS9VwUGOIud4PB18=",
        ],
        .microsoft: [
            "Microsoft RSA Root Certificate Authority 2017": "svcpi1K/LDysTd/nLeTWgqxYlXWVmC8rYjAa9ZfGmcU=",
            "Microsoft ECC Root Certificate Authority 2017": "NfU84SZGEeAzQP434ex9TMmGxWE9ynD9BKpEVF8tryg=",
        ],
        .sectigo: [
            "Sectigo Public Server Authentication Root E46": "sLVjNUaFYfW7n6EtgBeEpjOlcnBdNPMrZDRF36iwBdE=",
            "Sectigo Public Server Authentication Root R46": "Douxi77vs4G+Ib/BogbTFymEYq0QSFXwSgVCaZcI09Q=",
            "USERTrust ECC Certification Authority": "ICGRfpgmOUXIWcQ/HXPLQTkFPEFPoDyjvH7ohhQpjzs=",
            "USERTrust RSA Certification Authority": "x4QzPSC810K5/cMjb05Qm4k3Bw5zBn4lTdO/nEW/Td4=",
        ],
        .isrg: [
            "ISRG Root X1": "C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=",
            "ISRG Root X2": "diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI=",
        ],
        .amazon: [
            "Amazon Root CA 1": "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI=",
            "Amazon Root CA 3": "NqvDJlas/GRcYbcWE8S/IceH9cq77kg0jVhZeAPXq8k=",
            "Amazon Root CA 2": "f0KW/FtqTjs108NpYj42SrGvOB2PpxIVM8nWxjPqJGE=",
            "Amazon Root CA 4": "9+ze1cZgR9KO1kZrVDxA4HQ6voHRCSVNz4RdTCx4U8U=",
            "Starfield Services Root Certificate Authority - G2": "KwccWaCgrnaw6tsrrSO61FgLacNgG2MMLq8GE6+oP5I=",
        ],
    ]
}
