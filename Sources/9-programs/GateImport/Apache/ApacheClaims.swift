// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// The headers with claims that Apache sends to an app.
///
/// The names of header fields have no `_` here; for apps that read them through CGI or WSGI both spellings are the same.
struct ApacheHeaders {
    let server: ApacheServer
    let claims: ImportedClaims
    let filter: ApacheClaimFilter

    /// The claims that are sent beside those of every user: what rules compare, and what is listed.
    private var named: [String] {
        let compared = RequireRules.claims(in: self.server.nodes).filter { !Self.isPath($0) }
        var known: Set<String> = []
        return (compared + (self.filter.listed ?? [])).filter { self.filter.keeps($0) && known.insert($0).inserted }
    }

    /// Whether a name is a path to a member of a claim, which has no header of its own.
    private static func isPath(_ name: String) -> Bool { name.contains(".") && !name.contains("://") }

    /// Adds the headers to an app with some sections.
    func add(to app: inout ImportedApp, _ sections: [ApacheNode], _ notes: inout ImportNotes) {
        var headers = ImportedHeaders(claims: self.claims)
        self.addUser(to: &headers, &notes)
        let name = "oidcpassclaimsas"
        let passed = sections.compactMap { $0.all(name).last { !$0.arguments.isEmpty } }.last ?? self.server.value(name)
        var identity = YAMLMapping()
        if ["headers", "both"].contains(passed?.arguments.first?.lowercased() ?? "both") {
            self.addClaims(to: &headers, at: app.place, &notes)
            self.addForm(passed, to: &identity, &notes)
        }
        headers.warnOfForm(
            "flags are 'true' and 'false', with Apache '1' and '0'",
            at: self.server.value("oidcclaimprefix")?.place,
            &notes
        )
        app.claimNames = headers.claimNames
        app.settings.add("headers", headers.mapping)
        app.settings.add("identity", identity)
        let removed = headers.removed(besides: YAMLMapping())
        guard !removed.isEmpty else { return }
        var edits = YAMLMapping()
        edits.add("remove", .texts(removed))
        app.settings.add("request_headers", edits)
    }

    /// The header of `OIDCAuthNHeader` with the value of `REMOTE_USER`, by default the `sub` with the issuer.
    private func addUser(to headers: inout ImportedHeaders, _ notes: inout ImportNotes) {
        guard let header = self.server.text("oidcauthnheader") else { return }
        let claim = self.server.text("oidcremoteuserclaim") ?? "sub@"
        let outcome: ImportedHeaders.Outcome
        if claim.hasSuffix("@") {
            headers.drop(header)
            outcome = .left("Apache adds the issuer to the value")
        } else {
            outcome = headers.add(header, claim: claim)
        }
        guard case .left(let reason) = outcome else { return }
        let place = self.server.value("oidcauthnheader")?.place
        notes.warning("the header \(Scalar.quoted(header)) is not carried over: \(reason)", at: place)
    }

    private func addClaims(to headers: inout ImportedHeaders, at place: ImportPlace, _ notes: inout ImportNotes) {
        let prefix = self.server.value("oidcclaimprefix")?.arguments.first ?? "OIDC_CLAIM_"
        let groups = ApacheProvider(server: self.server).groupsClaim ?? "groups"
        let fields: [(String, IdentityField)] = [
            ("sub", .subject), ("email", .email), ("name", .name), ("preferred_username", .preferredUsername),
            (groups, .groups),
        ]
        var left: Set<String> = []
        for (claim, field) in fields where self.filter.keeps(claim) && !Self.isPath(claim) {
            let outcome = headers.add(Self.header(prefix, claim), field)
            if case .left(let reason) = outcome { left.insert(reason) }
        }
        for claim in self.named where !fields.contains(where: { $0.0 == claim }) {
            if case .left(let reason) = headers.add(Self.header(prefix, claim), claim: claim) { left.insert(reason) }
        }
        for reason in left.sorted() {
            notes.warning(
                "headers with claims are not carried over: \(reason)",
                at: self.server.value("oidcclaimprefix")?.place ?? place
            )
        }
    }

    /// The prefix and the name of the claim, in which the module replaces what a name of a field cannot have.
    private static func header(_ prefix: String, _ claim: String) -> String {
        let name = claim.unicodeScalars.map { scalar -> Character in
            let isKept = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            return isKept || "!#$%&'*+.^|~".unicodeScalars.contains(scalar) ? Character(scalar) : "-"
        }
        return String(prefix.map { $0 == "_" ? "-" : $0 }) + String(name)
    }

    /// The encoding of `OIDCPassClaimsAs` and the separator of `OIDCClaimDelimiter`.
    private func addForm(_ passed: ApacheNode?, to identity: inout YAMLMapping, _ notes: inout ImportNotes) {
        switch passed?.arguments.dropFirst().first?.lowercased() {
        case nil, "none": break
        case "latin1": identity.add("encoding", .word("plain"))
        case "base64url": identity.add("encoding", .word("base64url"))
        default:
            notes.warning(
                "the encoding of claims is not carried over; see 'identity: { encoding: … }'",
                at: passed?.place
            )
        }
        guard let delimiter = self.server.value("oidcclaimdelimiter"), let text = delimiter.arguments.first, text != ","
        else { return }
        if [";", "|", " "].contains(text) {
            identity.add("group_separator", ConfigText(text))
        } else {
            notes.warning(
                "'OIDCClaimDelimiter' is not carried over: lists are joined by one of ',', ';', '|' and a space",
                at: delimiter.place
            )
        }
    }
}
