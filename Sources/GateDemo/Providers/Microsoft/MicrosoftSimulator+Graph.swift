// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension MicrosoftSimulator {
    /// What is at `graph.microsoft.com` with the real one; nil for all other addresses.
    func graph(_ request: DemoRequest) -> DemoResponse? {
        switch (request.method, request.path) {
        case ("GET", "/oidc/userinfo"), ("POST", "/oidc/userinfo"): self.asPerson(request) { .json(self.userinfo($0)) }
        case ("GET", "/v1.0/me"): self.asPerson(request) { .json(self.me($0)) }
        case ("POST", "/v1.0/me/getMemberObjects"): self.asPerson(request) { self.groups(of: $0, request) }
        case ("GET", "/v1.0/me/photo/$value"):
            self.asPerson(request) { _ in
                Self.graphProblem("ImageNotFound", "The photo wasn't found.", status: 404)
            }
        default: nil
        }
    }

    private func asPerson(_ request: DemoRequest, _ answer: (DemoUser) -> DemoResponse) -> DemoResponse {
        guard let grant = self.stage.grants.grant(of: request.bearer) else {
            return Self.graphProblem(
                "InvalidAuthenticationToken",
                "Access token is missing or malformed.",
                status: 401,
                fields: [("WWW-Authenticate", "Bearer")],
            )
        }
        return answer(grant.person)
    }

    /// All members that userinfo can ever have: neither `oid` nor `tid`, and a picture that browsers cannot load. [D]
    private func userinfo(_ person: DemoUser) -> JSON {
        var members = person.record.filter { ["sub", "name", "given_name", "family_name", "email"].contains($0.key) }
        members["picture"] = "https://graph.microsoft.com/v1.0/me/photo/$value"
        if self.stage.has(MicrosoftQuirk.noMail) { members["email"] = nil }
        return .object(members)
    }

    /// The eleven properties that come without `$select`; `mail` is often null. [D]
    private func me(_ person: DemoUser) -> JSON {
        let record = person.record
        let isMailless = self.stage.has(MicrosoftQuirk.noMail)
        return [
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users/$entity", "businessPhones": [],
            "displayName": record["name"] ?? .null, "givenName": record["given_name"] ?? .null,
            "surname": record["family_name"] ?? .null, "jobTitle": .null, "mobilePhone": .null,
            "officeLocation": .null, "mail": isMailless ? .null : record["email"] ?? .null,
            "preferredLanguage": "en-US", "userPrincipalName": record["preferred_username"] ?? .null,
            "id": record["oid"] ?? .null,
        ]
    }

    /// Ids of all groups, those of groups included. [D]
    private func groups(of person: DemoUser, _ request: DemoRequest) -> DemoResponse {
        guard (try? JSON(parsing: request.body))?["securityEnabledOnly"]?.bool != nil else {
            return Self.graphProblem("BadRequest", "The securityEnabledOnly parameter is missing.", status: 400)
        }
        guard !self.stage.has(MicrosoftQuirk.overageUnresolved) else {
            let text = "Insufficient privileges to complete the operation."
            return Self.graphProblem("Authorization_RequestDenied", text, status: 403)
        }
        let own = person.record["groups"]?.array ?? []
        let more = (1...220).map { JSON.string("1b2c3d4e-0000-4000-8000-\(12_000_000_000 + $0)0".lowercased()) }
        return .json([
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#Collection(Edm.String)",
            "value": .array(self.stage.has(MicrosoftQuirk.overage) ? own + more : own),
        ])
    }

    /// An error of Graph is an object, not a word. [D]
    private static func graphProblem(
        _ code: String,
        _ text: String,
        status: Int,
        fields: [(name: String, value: String)] = [],
    ) -> DemoResponse {
        let inner: JSON = [
            "date": "2026-09-30T10:00:00", "request-id": .string(Self.trace), "client-request-id": .string(Self.trace),
        ]
        let error: JSON = ["code": .string(code), "message": .string(text), "innerError": inner]
        return .json(["error": error], status: status, fields: fields)
    }
}
