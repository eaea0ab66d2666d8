// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

extension ProviderDraft {
    /// Checks what depends on the type, and at last that it is a valid definition.
    func check(
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout DecodingContext
    ) {
        guard self.type != .local else { return self.checkLocal(written, keys, &reading) }
        let before = reading.errors
        self.checkSecret(written, &reading)
        self.checkProfile(&reading)
        self.checkClaims(&reading)
        self.checkPins(&reading)
        guard let type = self.type else { return }
        self.checkKeys(of: type, written, keys, &reading)
        if type.isOpenID, let scopes = self.scopes, !scopes.value.contains("openid") {
            reading.error("'scopes' needs 'openid', or the provider sends no identity", at: scopes.mark)
        }
        self.checkRestrictions(written, &reading)
        self.checkLookups(of: type, &reading)
        guard written.isSound, reading.errors == before, let settings = self.settings(id: "provider") else { return }
        do throws(Failure) {
            self.warnOfUnboundCodes(try ProviderDefinition(settings), &reading)
        } catch {
            reading.error(error.detail, at: written.mark)
        }
    }

    private func checkKeys(
        of type: ProviderType,
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout DecodingContext
    ) {
        for key in keys {
            guard let types = key.traits.types, !types.contains(type.name), let mark = written.keys[key.name] else {
                continue
            }
            let help =
                type == .oidc ? "an oidc provider is found by its 'issuer'" : "remove it"
            reading.error("'\(key.name)' is for type \(types.joined(separator: ", ")) only; \(help)", at: mark)
        }
        for key in keys where key.traits.requiredBy.contains(type.name) && written.keys[key.name] == nil {
            let example = key.example.map { ", such as '\(key.name): \($0)'" } ?? ""
            let isOfAll = key.traits.requiredBy.count == ProviderType.all.count
            let subject = isOfAll ? "a provider" : "a provider of type \(type.name)"
            reading.error("\(subject) needs '\(key.name)'\(example)", at: written.mark)
        }
    }

    private func checkSecret(_ written: Mapping<ProviderDraft>.Written, _ reading: inout DecodingContext) {
        if let method = self.clientAuthentication, method.value == .privateKeyJWT, written.keys["private_key"] == nil {
            reading.error(
                "private_key_jwt needs 'private_key', such as 'private_key: keys/provider.pem'",
                at: method.mark
            )
        }
        let hasCertificate = self.tls?.certificate != nil
        if let method = self.clientAuthentication, [.certificate, .ownCertificate].contains(method.value),
            !hasCertificate
        {
            reading.error(
                "\(method.value.rawValue) needs 'tls', such as 'tls: { certificate: tls/client.pem, private_key: tls/client.key }'",
                at: method.mark
            )
        }
        let isPublic = self.clientSecret.map { $0.count == 0 } ?? false
        if let method = self.clientAuthentication, method.value == .none, !isPublic {
            reading.error(
                "'client_authentication: none' is for a public client; write 'client_secret: none'",
                at: method.mark
            )
        }
        let needsKey = self.type?.required.contains(.privateKey) ?? false
        if isPublic, let mark = written.keys["client_secret"] {
            self.checkPublic(needsKey: needsKey, at: mark, &reading)
        }
        if let file = self.clientAssertionFile { self.checkAssertion(file, needsKey: needsKey, written, &reading) }
        guard written.keys["client_secret"] == nil, written.keys["private_key"] == nil,
            written.keys["client_assertion_file"] == nil, !needsKey
        else { return }
        if hasCertificate, let mark = written.keys["tls"] {
            return self.checkType("'tls.certificate' without a 'client_secret'", at: mark, &reading)
        }
        let example =
            "such as 'client_secret: ${env:GOOGLE_CLIENT_SECRET}', or 'client_secret: none' for a public client"
        reading.error("a provider needs 'client_secret', \(example)", at: written.mark)
    }

    /// A client without a secret, which only PKCE protects.
    private func checkPublic(needsKey: Bool, at mark: YAMLMark, _ reading: inout DecodingContext) {
        if needsKey {
            return reading.error("this type of provider needs 'private_key' and no 'client_secret'", at: mark)
        }
        if self.privateKey != nil || self.clientAssertionFile != nil || self.tls?.certificate != nil {
            reading.error(
                "'client_secret: none' is for a client without any proof; remove it, or the other one",
                at: mark
            )
        }
        if self.pkce?.value == .off {
            reading.error("without a secret only PKCE protects the codes of this client; remove 'pkce: off'", at: mark)
        }
        self.checkType("'client_secret: none'", at: mark, &reading)
        if let method = self.clientAuthentication, method.value != .none {
            reading.error("a public client cannot use '\(method.value.rawValue)'; remove it", at: method.mark)
        }
    }

    /// Types whose codes or API calls need the secret.
    private func checkType(_ written: String, at mark: YAMLMark, _ reading: inout DecodingContext) {
        guard let type = self.type, let definition = self.settings(id: "x").flatMap({ try? ProviderDefinition($0) })
        else { return }
        if definition.pkce == .off, self.pkce == nil, self.clientSecret != nil {
            let reason =
                "this type of provider takes no PKCE, so nothing would protect the codes of a client without a secret"
            reading.error("\(written) does not go with type \(type.name): \(reason)", at: mark)
        }
        if definition.apiProof != .none {
            reading.error(
                "\(written) does not go with type \(type.name): each call to its API is proved with the secret",
                at: mark
            )
        }
    }

    private func checkAssertion(
        _ file: Located<String>,
        needsKey: Bool,
        _ written: Mapping<ProviderDraft>.Written,
        _ reading: inout DecodingContext
    ) {
        if needsKey {
            return reading.error(
                "this type of provider needs 'private_key' and no 'client_assertion_file'",
                at: file.mark
            )
        }
        self.checkType("'client_assertion_file'", at: file.mark, &reading)
        for other in ["client_secret", "private_key"] where written.keys[other] != nil {
            reading.error("'client_assertion_file' is instead of '\(other)'; remove one of them", at: file.mark)
        }
        if let method = self.clientAuthentication {
            reading.error("with 'client_assertion_file' there is one way only; remove this", at: method.mark)
        }
        reading.warnOfSharedSecret(file.value, "a token", at: file.mark)
    }

    private func checkProfile(_ reading: inout DecodingContext) {
        self.warnOfChangingIDs(&reading)
        for field in self.profile ?? [] where ProfileField(rawValue: field.name)?.takesUnsigned == false {
            for source in field.value where source.value.hasPrefix("callback:") {
                let reason = "values from a browser are not signed; they may fill name, given_name and family_name only"
                reading.error("'\(field.name)' cannot come from a callback; \(reason)", at: source.mark)
            }
        }
    }

    /// How many claims a provider may define.
    private static let maxClaims = 64

    private func checkClaims(_ reading: inout DecodingContext) {
        let claims = self.claims ?? []
        if let first = claims.dropFirst(ProviderDraft.maxClaims).first {
            reading.error("more than \(ProviderDraft.maxClaims) claims", at: first.mark)
        }
        for claim in claims {
            for source in claim.value where source.value.hasPrefix("callback:") {
                let reason = "values from a browser are not signed"
                reading.error("'\(claim.name)' cannot come from a callback; \(reason)", at: source.mark)
            }
            for source in claim.value where ClaimSource(source.value)?.searchesAPI ?? false {
                let reason = "a list of an API may go on on another page, so a rule or an app could miss a value"
                reading.error("'\(claim.name)' cannot search a list of an API; \(reason)", at: source.mark)
            }
        }
    }

    private func checkRestrictions(_ written: Mapping<ProviderDraft>.Written, _ reading: inout DecodingContext) {
        let tenant = self.tenant ?? "common"
        let isOpen = ["common", "organizations", "consumers"].contains(tenant)
        if let trust = self.trustsEmail, trust.value, isOpen {
            reading.error(
                "'trust_email' needs one 'tenant'; with '\(tenant)' any administrator could claim any email address",
                at: trust.mark
            )
        }
        let lists = [
            ("tenants", self.tenants), ("hosted_domains", self.hostedDomains), ("workspaces", self.workspaces),
        ]
        for case (let name, let list?) in lists where list.value.isEmpty && written.isSound {
            reading.error("'\(name)' is an empty list; remove it to accept all", at: list.mark)
        }
        if let algorithms = self.signatureAlgorithms, algorithms.value.isEmpty, written.isSound {
            let message = "'id_token_algorithms' is an empty list, so every token would be rejected; remove it"
            reading.error(message, at: algorithms.mark)
        }
        self.checkTokens(&reading)
        guard let tenants = self.tenants, !tenants.value.isEmpty else { return }
        if !isOpen || tenant == "consumers" {
            reading.error("'tenants' goes with tenant common or organizations; remove it", at: tenants.mark)
        }
    }

    private func checkTokens(_ reading: inout DecodingContext) {
        let secret = self.clientSecret ?? Secret([])
        if let type = self.type, let algorithms = self.signatureAlgorithms,
            let failure = SignatureAlgorithm.conflict(in: algorithms.value, of: type, secret: secret)
        {
            reading.error("'id_token_algorithms': \(failure)", at: algorithms.mark)
        }
        if let audiences = self.trustedAudiences, let clientID = self.clientID, audiences.value.contains(clientID) {
            reading.error(
                "'trusted_audiences' has the client_id, which is always accepted; remove it",
                at: audiences.mark
            )
        }
        if let audiences = self.trustedAudiences, audiences.value.count > 32 {
            reading.error("'trusted_audiences' has more than 32 entries", at: audiences.mark)
        }
    }

    private func checkLookups(of type: ProviderType, _ reading: inout DecodingContext) {
        guard let groups = self.groups, !type.lookups.isEmpty else { return }
        if groups.value.isEmpty {
            reading.error("'groups' is an empty list; remove it for no look-up", at: groups.mark)
        }
        for (index, name) in groups.value.enumerated() {
            guard type.lookups.contains(name.value) else {
                let nearest = reading.nearest(to: name.value, in: type.lookups).map { "did you mean '\($0)'?" }
                let help = nearest ?? "\(type.name) has \(type.lookups.joined(separator: ", "))"
                reading.error("\(Scalar.quoted(name.value)) is not a look-up; \(help)", at: name.mark)
                continue
            }
            if groups.value[..<index].contains(where: { $0.value == name.value }) {
                reading.error("\(Scalar.quoted(name.value)) is in the list already", at: name.mark)
            }
        }
        if type == .google, groups.value.count > 1 {
            reading.error("write one of 'direct' and 'transitive', which finds the direct ones too", at: groups.mark)
        }
    }

    /// Without challenge and nonce a stolen code works in every browser.
    ///
    /// RFC 9700 §2.1.1.
    private func warnOfUnboundCodes(_ definition: ProviderDefinition, _ reading: inout DecodingContext) {
        guard definition.pkce == .off, let mark = self.pkce?.mark ?? self.nonce?.mark else { return }
        guard self.type?.isOpenID == false || definition.nonce == .ifPresent else { return }
        reading.warning(
            "without PKCE and nonce an attacker can use a stolen code; use it only if the provider fails otherwise",
            at: mark
        )
    }

    /// A value that users can change, or that can be reassigned, is not an id.
    private func warnOfChangingIDs(_ reading: inout DecodingContext) {
        let changing = ["email", "mail", "upn", "preferred_username", "username", "login", "userPrincipalName"]
        for source in self.profile?.first(where: { $0.name == "subject" })?.value ?? [] {
            let name = String(source.value.split(whereSeparator: { "/#]".contains($0) }).last ?? "")
            guard changing.contains(name) else { continue }
            let help = "its next owner would be the same user; choose an id that stays"
            reading.warning("\(Scalar.quoted(name)) can be reassigned; \(help)", at: source.mark)
        }
    }
}

extension ProviderDraft {
    /// Rejects pins for plain http, which has no key to compare.
    func checkPins(_ reading: inout DecodingContext) {
        guard let pins = self.tls?.pins else { return }
        let addresses = [
            ("issuer", self.issuer.flatMap { WebURL($0) }), ("base_url", self.baseURL), ("api_url", self.apiURL),
            ("metadata_url", self.metadataURL), ("token_endpoint", self.tokenEndpoint),
            ("userinfo_endpoint", self.userinfoEndpoint), ("jwks_uri", self.keysURL),
        ]
        for case (let name, let address?) in addresses where !address.origin.isSecure {
            reading.error("pins need https, but '\(name)' is plain http; write https or remove 'pins'", at: pins.mark)
        }
    }
}
