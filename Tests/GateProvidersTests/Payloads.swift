// SPDX-License-Identifier: Apache-2.0

import GateCore

@testable import GateProviders

/// Payloads in the shapes that the providers document.
enum Payloads {
    static func json(_ text: String) -> JSON { (try? JSON(parsing: Array(text.utf8))) ?? .null }

    static let google = Self.json(
        """
        {
          "iss": "https://accounts.google.com",
          "azp": "123456789012-inventedclient.apps.googleusercontent.com",
          "aud": "123456789012-inventedclient.apps.googleusercontent.com",
          "sub": "104729384756102938475",
          "hd": "example.org",
          "email": "ada@example.org",
          "email_verified": true,
          "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
          "nonce": "n-0S6_WzA2Mj",
          "name": "Ada Example",
          "picture": "https://lh3.googleusercontent.com/a/INVENTED=s96-c",
          "given_name": "Ada",
          "family_name": "Example",
          "iat": 1790000000,
          "exp": 1790003600
        }
        """
    )

    static let gitHubUser = Self.json(
        """
        {
          "login": "ada-example", "id": 73205511, "node_id": "U_kgDOBF0FRw",
          "avatar_url": "https://avatars.githubusercontent.com/u/73205511?v=4", "gravatar_id": "",
          "url": "https://api.github.com/users/ada-example", "html_url": "https://github.com/ada-example",
          "type": "User", "user_view_type": "private", "site_admin": false,
          "name": null, "company": null, "blog": "", "location": null, "email": null,
          "notification_email": null, "hireable": null, "bio": null, "twitter_username": null,
          "public_repos": 2, "public_gists": 0, "followers": 20, "following": 0,
          "created_at": "2020-10-19T08:15:30Z", "updated_at": "2026-08-31T17:02:11Z"
        }
        """
    )

    static let gitHubEmails = Self.json(
        """
        [
          { "email": "ada@example.org", "primary": true,  "verified": true,  "visibility": "private" },
          { "email": "73205511+ada-example@users.noreply.github.com", "primary": false, "verified": true,
            "visibility": null },
          { "email": "old@example.net", "primary": false, "verified": false, "visibility": null }
        ]
        """
    )

    static let microsoft = Self.json(
        """
        {
          "ver": "2.0",
          "iss": "https://login.microsoftonline.com/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0",
          "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
          "aud": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
          "exp": 1790003900, "iat": 1790000000, "nbf": 1790000000,
          "name": "Ada Example", "preferred_username": "ada@contoso.example",
          "oid": "00000000-1111-2222-3333-444455556666", "tid": "8eae0000-2b34-4da1-9baa-8bc8c9d6a490",
          "email": "ada@contoso.example", "nonce": "n-0S6_WzA2Mj",
          "rh": "0.AXoA", "uti": "inventedUtiValue0AA", "aio": "ATQAy/8T", "sid": "001122aa-",
          "groups": ["1b2c3d4e-0000-4000-8000-aabbccddeeff"], "roles": ["Gateway.Admin"],
          "xms_edov": true
        }
        """
    )

    static let microsoftUserinfo = Self.json(
        """
        { "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "name": "Ada Example", "family_name": "Example",
          "given_name": "Ada", "picture": "https://graph.microsoft.com/v1.0/me/photo/$value",
          "email": "ada@contoso.example" }
        """
    )
}

extension JSON {
    /// The object with some members replaced; a nil takes one away.
    func with(_ changes: [String: JSON?]) -> JSON {
        var members = self.object ?? [:]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }
}

extension JSON {
    /// The document with the value at a pointer replaced; a nil takes an object's member away.
    func replacing(_ pointer: String, with value: JSON?) -> JSON {
        let steps = pointer.split(separator: "/").map {
            String($0).replacing("~1", with: "/").replacing("~0", with: "~")
        }
        return self.replacing(steps[...], with: value) ?? .null
    }

    private func replacing(_ steps: ArraySlice<String>, with value: JSON?) -> JSON? {
        guard let name = steps.first else { return value }
        if case .array(var elements) = self, let index = Int(name), elements.indices.contains(index) {
            elements[index] = elements[index].replacing(steps.dropFirst(), with: value) ?? .null
            return .array(elements)
        }
        return self.with([name: (self[name] ?? [:]).replacing(steps.dropFirst(), with: value)])
    }
}

extension ProviderPayloads {
    /// The payloads with the value replaced that a source without a filter points at.
    func replacing(_ text: String, with value: JSON?) -> ProviderPayloads {
        guard let source = ClaimSource(text) else { return self }
        var changed = self
        switch source.document {
        case .idToken: changed.idToken = (self.idToken ?? [:]).replacing(source.pointer, with: value)
        case .userinfo: changed.userinfo = (self.userinfo ?? [:]).replacing(source.pointer, with: value)
        case .callback: changed.callback = (self.callback ?? [:]).replacing(source.pointer, with: value)
        case .api(let path): changed.api[path] = (self.api[path] ?? [:]).replacing(source.pointer, with: value)
        case .constant: break
        }
        return changed
    }
}

/// Settings of one provider of each type.
func settings(_ type: ProviderType, id: String? = nil) -> ProviderSettings {
    var settings = ProviderSettings(
        id: id ?? type.rawValue,
        type: type,
        clientID: "client",
        clientSecret: Secret(text: "secret")
    )
    if type.required.contains(.issuer) { settings.issuer = "https://id.example.com/realms/staff" }
    guard type == .oauth2 else { return settings }
    settings.authorizationEndpoint = WebURL("https://id.example.com/authorize")
    settings.tokenEndpoint = WebURL("https://id.example.com/token")
    settings.apiURL = WebURL("https://api.example.com/v2/")
    settings.profile = ["subject": ["api:/user#/id"]]
    return settings
}
