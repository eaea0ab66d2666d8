// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

/// What a provider reports about a user who signed in earlier.
package enum RecheckResult: Sendable {
    /// The user may still sign in; profile and grant are new.
    case confirmed(SignIn)
    /// The same, but a part of the profile could not be read.
    case partial(SignIn, Failure)
    /// The tokens are new and have to be kept, but the user could not be read.
    case refreshed(ProviderGrant, Failure)
    /// The provider does not let the user in any more, or the rules of the definition do not.
    case ended(Failure)
    /// The provider cannot be asked without the user.
    case needsUser
}

/// A user to ask a provider about.
package struct RecheckedUser: Sendable {
    /// What the provider granted.
    package let grant: ProviderGrant
    /// The profile that it gave.
    package let profile: Profile
    /// The ID token of the sign-in or of the last re-check; nil without one, or if it was too long to keep.
    package let idToken: Secret?

    /// The user of a session.
    package init(grant: ProviderGrant, profile: Profile, idToken: Secret?) {
        self.grant = grant
        self.profile = profile
        self.idToken = idToken
    }
}

// MARK: Re-checks

extension RelyingParty {
    /// Asks the provider, without the user, whether a user may still sign in.
    ///
    /// With a refresh token it is redeemed, RFC 6749 §6, to which every provider responds by the state of the account; else
    /// userinfo or the API is asked with the access token. Only an error that is about this user ends a session: one
    /// about the gateway's registration would end all of them.
    ///
    /// - Parameters:
    ///   - user: The user, and what the provider granted.
    ///   - looksUpGroups: Whether a rule needs groups.
    ///   - acceptsPartial: Whether a profile is accepted although groups or userinfo could not be read.
    /// - Returns: What the provider reports.
    /// - Throws: Why the provider could not be asked; nothing has changed there.
    package func recheck(
        _ user: RecheckedUser,
        looksUpGroups: Bool,
        acceptsPartial: Bool
    ) async throws(Failure) -> RecheckResult {
        guard user.grant.isUsable(at: self.clock.now) else { return .needsUser }
        // Without the token of the sign-in there is nothing to compare with, and a redeemed refresh token is spent.
        let kept = user.idToken.flatMap {
            $0.withText { IDToken.kept($0, self.definition, issuer: user.profile.issuer) }
        }
        guard self.keys == nil || kept != nil else { return .needsUser }
        guard self.rechecks.acquire() else {
            throw Failure(.providerBusy, "re-checks use half of max_connections already")
        }
        defer { self.rechecks.release() }
        let metadata = try await self.metadata()
        try await self.prepareKeys()
        let slot = try await self.queue.enter()
        defer { self.queue.release(slot) }
        let recheck = Recheck(user: user, kept: kept, looksUpGroups: looksUpGroups, acceptsPartial: acceptsPartial)
        guard let refreshToken = user.grant.refreshToken else {
            return try await self.ask(recheck, metadata)
        }
        return try await self.refresh(refreshToken, recheck, metadata)
    }

    private struct Recheck {
        let user: RecheckedUser
        /// The ID token of the sign-in; nil for a provider that has none.
        let kept: IDToken?
        let looksUpGroups: Bool
        let acceptsPartial: Bool
    }

    private func refresh(
        _ refreshToken: Secret,
        _ recheck: Recheck,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> RecheckResult {
        var form = Form()
        form.append("grant_type", "refresh_token")
        form.append("refresh_token", refreshToken.withText { $0 })
        let token: TokenResponse
        do throws(Failure) {
            token = try await self.tokens(for: form, metadata)
        } catch {
            // What would be about the code at a sign-in is about the refresh token here.
            guard error.reason == .openIDCodeRefused || error.reason == .providerDenied else { throw error }
            return .ended(Failure(.providerGrantEnded, error.detail))
        }
        let earlier = recheck.user.grant
        let grant = ProviderGrant(token, extras: earlier.json, keeping: earlier.refreshToken, at: self.clock.now)
        do throws(Failure) {
            return try await self.confirmation(of: recheck, token, metadata, grant)
        } catch {
            return RelyingParty.endsSession(error)
                ? .ended(Failure(.providerGrantEnded, "\(error)")) : .refreshed(grant, error)
        }
    }

    /// Asks with the access token of the sign-in.
    private func ask(_ recheck: Recheck, _ metadata: ProviderMetadata) async throws(Failure) -> RecheckResult {
        guard let accessToken = recheck.user.grant.accessToken, self.keys == nil || metadata.userinfo != nil else {
            return .needsUser
        }
        let token = TokenResponse(kept: accessToken.withText { $0 }, scopes: recheck.user.grant.scopes)
        do throws(Failure) {
            return try await self.confirmation(of: recheck, token, metadata, recheck.user.grant)
        } catch {
            guard RelyingParty.endsSession(error) || error.reason == .providerTokenRejected else { throw error }
            return .ended(Failure(.providerGrantEnded, "\(error)"))
        }
    }

    private func confirmation(
        of recheck: Recheck,
        _ token: TokenResponse,
        _ metadata: ProviderMetadata,
        _ grant: ProviderGrant
    ) async throws(Failure) -> RecheckResult {
        let tokens = try await self.verified(token, of: recheck, metadata)
        let found = try await self.profile(of: tokens, recheck)
        var signIn = self.signIn(found.profile, tokens, grant)
        // That of the session stays.
        if token.idToken == nil { signIn.idToken = nil }
        return found.missing.map { .partial(signIn, $0) } ?? .confirmed(signIn)
    }

    /// The failures of an endpoint that is down.
    private static let outages: Set<Failure.Reason> = [
        .providerUnavailable, .providerTimeout, .providerUnreachable, .providerConnectionLost,
        .providerQueueFull, .providerNoResources,
    ]

    /// Whether a failure means that the provider did not respond, or not now.
    package static func isOutage(_ failure: Failure) -> Bool { self.outages.contains(failure.reason) }

    /// Whether a failure is about this user: the account is not admitted any more, or is another one.
    private static func endsSession(_ failure: Failure) -> Bool {
        failure.kind == .forbidden || failure.reason == .idTokenSubject || failure.reason == .openIDUserinfoSubject
    }

    /// The tokens of a re-check, whose ID token goes on from that of the session; without a new one it is that of the session.
    private func verified(
        _ token: TokenResponse,
        of recheck: Recheck,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> VerifiedTokens {
        var expected = IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.clientID,
            nonce: "",
            accessToken: token.accessToken,
            now: self.clock.now
        )
        var idToken: IDToken?
        if let keys = self.keys {
            guard let kept = recheck.kept else { throw Failure(.openIDMissingIDToken, "the session has no ID token") }
            expected.earlier = kept.claims
            idToken = kept
            if let text = token.idToken {
                idToken = try await IDToken.verified(text, by: keys, expecting: expected)
            }
        }
        return VerifiedTokens(
            response: token,
            idToken: idToken,
            expected: expected,
            metadata: metadata,
            extras: recheck.user.grant.json
        )
    }

    /// The profile of the user of new tokens, who must be the one of the session, and why a part of it could not be read.
    private func profile(
        of tokens: VerifiedTokens,
        _ recheck: Recheck
    ) async throws(Failure) -> (profile: Profile, missing: Failure?) {
        let known = recheck.user.profile
        // Without a new ID token, userinfo has the provider's latest word.
        let isProof = tokens.response.idToken == nil
        let claims = tokens.idToken?.claims
        var payloads = ProviderPayloads(idToken: claims, callback: tokens.extras)
        var missing: Failure?
        let isNeeded = isProof || self.definition.readsUserinfo(after: payloads, groups: recheck.looksUpGroups)
        switch isNeeded ? try await self.userinfo(of: tokens) : nil {
        case nil: break
        case .success(let userinfo)?:
            payloads.userinfo = userinfo
            if isProof {
                payloads.signed = claims
                payloads.idToken = claims?.overlaid(by: userinfo)
            }
        case .failure(let failure)?:
            guard recheck.acceptsPartial, recheck.user.grant.refreshToken != nil else { throw failure }
            payloads.isUserinfoUnavailable = true
            missing = failure
        }
        let found = try await self.profile(&payloads, tokens.response, looksUpGroups: recheck.looksUpGroups)
        let profile = found.mapped.profile
        guard isIdentical(profile.issuer, known.issuer), isIdentical(profile.subject, known.subject) else {
            throw Failure(.openIDUserinfoSubject, "the tokens are about another user than the session")
        }
        if known.groupsComplete, !profile.groupsComplete {
            let failure = Failure(.providerGroupsIncomplete, found.notes.first ?? "the provider omitted some")
            guard recheck.acceptsPartial else { throw failure }
            missing = missing ?? failure
        }
        return (profile, missing)
    }
}

extension ProviderGrant {
    /// The extras, parsed.
    fileprivate var json: JSON? { self.extras.flatMap { try? JSON(parsing: $0.utf8, depth: 8) } }
}

extension JSON {
    /// An object with the members of another one in place of its own; what only it has stays.
    fileprivate func overlaid(by other: JSON) -> JSON {
        guard let own = self.object, let new = other.object else { return self }
        return .object(own.merging(new) { $1 })
    }
}
