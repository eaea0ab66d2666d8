// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A quirk of a document: discovery, key set or userinfo, identified by a member that only it has.
struct DocumentQuirk: Sendable {
    let quirk: DemoQuirk
    /// A member that only this kind of document has.
    let member: String
    let change: @Sendable (inout [String: JSON], SimulatorContext) -> Void

    private init(
        _ name: String,
        _ member: String,
        _ summary: String,
        change: @escaping @Sendable (inout [String: JSON], SimulatorContext) -> Void,
    ) {
        self.quirk = DemoQuirk(name, of: "any", summary)
        self.member = member
        self.change = change
    }

    static let all = [
        DocumentQuirk(
            "discovery-wrong-issuer",
            "jwks_uri",
            "The discovery document names another issuer (OpenID Connect Discovery §4.3); no user can sign in.",
        ) { document, _ in
            document["issuer"] = "https://attacker.example"
        },
        DocumentQuirk(
            "keys-too-large",
            "keys",
            "The key set has a megabyte; the gateway stops reading at half of it and no user can sign in.",
        ) { document, _ in
            document["padding"] = .string(String(repeating: "x", count: 1_048_576))
        },
        DocumentQuirk(
            "keys-repeated-id",
            "keys",
            "Two keys have the same id, the wrong one first; the gateway tries both and users sign in.",
        ) { document, context in
            let keys = document["keys"]?.array ?? []
            let wrong = keys.map { key in
                JSON.object(
                    (key.object ?? [:]).merging(["n": .string(RSASigningKey.idleModulus(context.random))]) { $1 }
                )
            }
            document["keys"] = .array(wrong + keys)
        },
        DocumentQuirk(
            "keys-for-encryption",
            "keys",
            "The keys are for encryption (use: enc), not for signatures; the gateway has no key and rejects tokens.",
        ) { document, _ in
            let keys = document["keys"]?.array ?? []
            document["keys"] = .array(keys.map { .object(($0.object ?? [:]).merging(["use": "enc"]) { $1 }) })
        },
        DocumentQuirk(
            "userinfo-other-subject",
            "sub",
            "Userinfo describes another user than the ID token (OpenID Connect Core §5.3.2); the gateway rejects both.",
        ) { document, _ in
            document["sub"] = "another-user"
        },
    ]
}
