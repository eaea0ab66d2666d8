// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Something wrong with a document: discovery, key set or userinfo, told apart by a member that only it has.
struct DocumentQuirk: Sendable {
    let quirk: DemoQuirk
    /// A member that tells this kind of document from the others.
    let mark: String
    let change: @Sendable (inout [String: JSON], SimulatorContext) -> Void

    private init(
        _ name: String,
        _ mark: String,
        _ summary: String,
        change: @escaping @Sendable (inout [String: JSON], SimulatorContext) -> Void,
    ) {
        self.quirk = DemoQuirk(name, of: "any", summary)
        self.mark = mark
        self.change = change
    }

    static let all = [
        DocumentQuirk(
            "discovery-wrong-issuer",
            "jwks_uri",
            "The discovery document is another issuer's (OpenID Connect Discovery §4.3); nobody can sign in.",
        ) { document, _ in
            document["issuer"] = "https://attacker.example"
        },
        DocumentQuirk(
            "keys-too-large",
            "keys",
            "The key set has a megabyte; the gateway stops reading at half of it and nobody can sign in.",
        ) { document, _ in
            document["padding"] = .string(String(repeating: "x", count: 1_048_576))
        },
        DocumentQuirk(
            "keys-repeated-id",
            "keys",
            "Two keys have the same name, the wrong one first; the gateway tries both and people sign in.",
        ) { document, stage in
            let keys = document["keys"]?.array ?? []
            let wrong = keys.map { key in
                JSON.object((key.object ?? [:]).merging(["n": .string(DemoKey.idleModulus(stage.random))]) { $1 })
            }
            document["keys"] = .array(wrong + keys)
        },
        DocumentQuirk(
            "keys-for-encryption",
            "keys",
            "The keys are for encryption (use: enc), so they sign nothing; the gateway has no key and refuses tokens.",
        ) { document, _ in
            let keys = document["keys"]?.array ?? []
            document["keys"] = .array(keys.map { .object(($0.object ?? [:]).merging(["use": "enc"]) { $1 }) })
        },
        DocumentQuirk(
            "userinfo-other-subject",
            "sub",
            "Userinfo is about somebody else than the ID token (OpenID Connect Core §5.3.2); the gateway refuses both.",
        ) { document, _ in
            document["sub"] = "somebody-else"
        },
    ]
}
