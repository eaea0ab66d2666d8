// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension ProviderPayloads {
    package static let savedMembers = ["id_token", "userinfo", "api", "callback", "groups", "groups_complete"]

    /// Parses saved responses of a provider, for `gatehouse profile`.
    ///
    /// An object of `id_token` (the claims, or the token itself, whose signature is not verified), `userinfo`, `api`
    /// (responses by path), `callback`, and `groups` with `groups_complete` for the results of lookups.
    ///
    /// - Throws: A failure whose detail describes the format.
    package init(saved json: JSON) throws(Failure) {
        guard let members = json.object, !members.isEmpty,
            members.keys.allSatisfy(ProviderPayloads.savedMembers.contains)
        else {
            let names = ProviderPayloads.savedMembers.joined(separator: ", ")
            throw ProviderPayloads.unusable(
                "it needs an object with one or more of the members \(names), such as "
                    + #"{ "id_token": { "sub": "1234" } }"#
            )
        }
        self.init()
        self.idToken = try members["id_token"].map(ProviderPayloads.claims)
        self.userinfo = try ProviderPayloads.object("userinfo", in: members)
        if let subject = self.idToken?["sub"], let other = self.userinfo?["sub"], subject != other {
            throw ProviderPayloads.unusable("'id_token' and 'userinfo' are about two users: their 'sub' differ")
        }
        self.callback = try ProviderPayloads.object("callback", in: members).map(ProviderPayloads.unfolded)
        self.api = try ProviderPayloads.object("api", in: members)?.object ?? [:]
        if let path = self.api.keys.first(where: { !$0.hasPrefix("/") }) {
            let detail = #"'api' has responses by path, such as "/user"; "\#(path.prefix(60))" is not one"#
            throw ProviderPayloads.unusable(detail)
        }
        try self.addGroups(of: members)
    }

    private mutating func addGroups(of members: [String: JSON]) throws(Failure) {
        guard let groups = members["groups"] else { return }
        guard let names = groups.array?.map(\.string), !names.contains(nil) else {
            throw ProviderPayloads.unusable("'groups' is a list of names, as look-ups find them")
        }
        let isComplete = members["groups_complete"]?.bool ?? true
        self.lookedUp = LookedUpNames(names.compactMap(\.self), isComplete: isComplete)
    }

    /// What a callback brings as JSON in a text, as Apple does, is read as the gateway reads it.
    private static func unfolded(_ callback: JSON) -> JSON {
        .object(
            (callback.object ?? [:]).mapValues {
                ($0.string.flatMap { try? JSON(parsing: Array($0.utf8), depth: 8) }) ?? $0
            }
        )
    }

    private static func object(_ name: String, in members: [String: JSON]) throws(Failure) -> JSON? {
        guard let value = members[name] else { return nil }
        guard value.object != nil else { throw self.unusable("'\(name)' is an object") }
        return value
    }

    /// Claims, or those in a token in compact form.
    ///
    /// RFC 7515 §7.1.
    private static func claims(_ value: JSON) throws(Failure) -> JSON {
        guard let text = value.string else {
            guard value.object != nil else { throw self.unusable("'id_token' is an object of claims, or a token") }
            return value
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]), let json = try? JSON(parsing: bytes, depth: 32),
            json.object != nil
        else { throw self.unusable("'id_token' is not a token in compact form") }
        return json
    }

    private static func unusable(_ detail: String) -> Failure {
        Failure(.profilePayload, detail)
    }
}
