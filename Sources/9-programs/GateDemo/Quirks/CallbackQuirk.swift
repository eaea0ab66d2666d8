// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A quirk of the parameters of the redirect back to the app.
///
/// RFC 6749 §4.1.2 and RFC 9207 forbid all of them; none may lead to a token request.
struct CallbackQuirk: Sendable {
    let quirk: DemoQuirk
    let change: @Sendable (inout [Form.Field]) -> Void

    private init(_ name: String, _ summary: String, change: @escaping @Sendable (inout [Form.Field]) -> Void) {
        self.quirk = DemoQuirk(name, of: "any", summary)
        self.change = change
    }

    static let all = [
        CallbackQuirk(
            "callback-wrong-issuer",
            "The callback names another issuer (RFC 9207); the gateway rejects it without redeeming the code.",
        ) { fields in
            fields = fields.filter { $0.name != "iss" } + [Form.Field("iss", "https://attacker.example")]
        },
        CallbackQuirk(
            "callback-two-issuers",
            "The callback has iss twice; the gateway rejects repeated parameters.",
        ) { fields in
            fields = fields.filter { $0.name != "iss" }
            fields += [Form.Field("iss", "https://one.example"), Form.Field("iss", "https://two.example")]
        },
        CallbackQuirk(
            "callback-two-states",
            "The callback has state twice, the right one first; the gateway rejects repeated parameters.",
        ) { $0.append(Form.Field("state", "another")) },
        CallbackQuirk(
            "callback-two-codes",
            "The callback has code twice; the gateway rejects repeated parameters.",
        ) { $0.append(Form.Field("code", "another")) },
        CallbackQuirk(
            "callback-wrong-state",
            "The callback has a state of another browser; the gateway rejects it.",
        ) { fields in
            fields = fields.filter { $0.name != "state" } + [Form.Field("state", "of-another-attempt")]
        },
        CallbackQuirk(
            "callback-long-error",
            "The callback is an error with a description of 6000 letters; the gateway logs only its beginning.",
        ) { fields in
            fields = fields.filter { $0.name == "state" || $0.name == "iss" }
            fields += [Form.Field("error", "access_denied")]
            fields += [Form.Field("error_description", String(repeating: "length", count: 1000))]
        },
    ]

    /// The parameters with the changes of the quirks.
    static func changed(_ fields: [Form.Field], quirks: DemoQuirks) -> [Form.Field] {
        var fields = fields
        for quirk in self.all where quirks.contains(quirk.quirk) { quirk.change(&fields) }
        return fields
    }
}
