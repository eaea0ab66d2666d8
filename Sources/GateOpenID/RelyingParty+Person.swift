// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

extension RelyingParty {
    /// The person whom the tokens and the provider's API describe.
    ///
    /// - Parameters:
    ///   - payloads: What is known of the person from the tokens.
    ///   - token: The access token for the calls.
    ///   - looksUpGroups: Whether groups are looked up.
    /// - Returns: The profile, and what an operator should know of how it came about.
    /// - Throws: Why there is no such person, or `provider.api_refused` if who it is cannot be asked.
    func person(
        _ payloads: ProviderPayloads,
        _ token: TokenResponse,
        looksUpGroups: Bool
    ) async throws(Failure) -> (mapped: MappedProfile, notes: [String]) {
        let access = APIAccess(self.definition, accessToken: token.accessToken, secret: self.client.secret)
        var payloads = payloads
        var notes = try await self.ask(&payloads, access)
        let mapped = try self.definition.profile(from: payloads)
        guard looksUpGroups else { return (mapped, notes) }
        let search = GroupResolver(definition: self.definition, call: self.call, access: access)
        guard let found = await search.found(for: mapped.profile, payloads, granted: token.scopes) else {
            return (mapped, notes)
        }
        notes += found.notes
        if !found.names.isComplete {
            let detail = found.notes.first ?? "the provider left some out"
            self.report(Failure(.providerGroupsIncomplete, detail))
        }
        payloads.lookedUp = found.names
        return (try self.definition.profile(from: payloads), notes)
    }

    /// Makes the API calls that the profile needs, as long as an answer shows that it needs one more.
    private func ask(_ payloads: inout ProviderPayloads, _ access: APIAccess) async throws(Failure) -> [String] {
        var notes: [String] = []
        var made: Set<String> = []
        for _ in self.definition.apiCalls {
            let wanted = self.definition.wantedCalls(for: payloads, made: made)
            guard !wanted.isEmpty else { break }
            for call in wanted {
                made.insert(call.path)
                switch try await self.call.answer(to: call, access) {
                case .success(let answer): payloads.api[call.path] = answer
                case .failure(let refusal):
                    guard !call.isRequired else { throw refusal }
                    let scopes = self.definition.scopes.joined(separator: " ")
                    notes.append("\(refusal.detail). Its fields stay empty: grant the app what it needs (\(scopes)).")
                }
            }
        }
        return notes
    }
}
