// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The verified responses of a provider about one user.
package struct ProviderPayloads: Sendable, Hashable {
    /// The claims of the verified ID token.
    package var idToken: JSON?
    /// The same where those of userinfo are over them; nil where they are not.
    package var signed: JSON?
    /// The userinfo response, of the same `sub`.
    package var userinfo: JSON?
    /// Whether userinfo was needed and did not respond: its claims are unknown, not absent.
    package var isUserinfoUnavailable = false
    /// The responses of API calls by path.
    package var api: [String: JSON]
    /// What the browser brought with the callback besides the protocol's own parameters.
    package var callback: JSON?
    /// The groups that look-ups at the provider found; nil if none was made.
    package var lookedUp: LookedUpNames?

    /// Makes payloads; a provider without ID tokens has API responses only.
    package init(
        idToken: JSON? = nil,
        userinfo: JSON? = nil,
        api: [String: JSON] = [:],
        callback: JSON? = nil,
        lookedUp: LookedUpNames? = nil
    ) {
        self.idToken = idToken
        self.userinfo = userinfo
        self.api = api
        self.callback = callback
        self.lookedUp = lookedUp
    }

    /// The value a source points at, the first if it searches an array; nil if it is absent or null.
    func value(at source: ClaimSource) -> JSON? {
        source.filter == nil ? self.plainValue(at: source) : self.values(at: source).first
    }

    private func plainValue(at source: ClaimSource) -> JSON? {
        guard source.document != .constant else { return .string(source.pointer) }
        let found = self.document(source.document)?.value(at: source.pointer)
        if case .null? = found { return nil }
        return found
    }

    /// All values that a source points at; of a plain pointer at most one.
    func values(at source: ClaimSource) -> [JSON] {
        guard let filter = source.filter, source.document != .constant else {
            return self.plainValue(at: source).map { [$0] } ?? []
        }
        let elements = self.document(source.document)?.value(at: source.pointer).map { filter.elements(of: $0) } ?? []
        return elements.compactMap { $0.value(at: source.tail) }.filter { $0 != .null }
    }

    /// The names that a search of an array finds; nil if there is nothing to search.
    ///
    /// They are complete only if every element has the value, and if the array is not a response of an API, which may
    /// go on on another page.
    func names(at source: ClaimSource) -> NameList? {
        guard let filter = source.filter, let value = self.document(source.document)?.value(at: source.pointer),
            value != .null
        else { return nil }
        let found = self.values(at: source)
        let count = value.array?.count ?? .max
        let isOnePage = source.call == nil || count == 0
        let isWhole = count <= ElementFilter.maxElements && filter.elements(of: value).count == found.count
        return NameList(.array(found), isWhole: isWhole && isOnePage)
    }

    /// What a source has for a claim.
    enum ClaimReading: Sendable, Hashable {
        /// The provider has sent no value, so the next source counts.
        case absent
        /// It may have one: a document did not come, a list may go on elsewhere, or what it sent cannot be used as a whole. Users can
        /// cause each of these, so no other source replaces it.
        case unknown
        /// The value.
        case value(ClaimValue)
    }

    /// What a source has for a claim of the operator's own; of an array that is searched, all elements that are found.
    func claim(at source: ClaimSource) -> ClaimReading {
        guard source.document != .constant else { return .value(.text(source.pointer)) }
        guard let document = source.document == .idToken ? self.signedClaims : self.document(source.document) else {
            return .unknown
        }
        guard let value = document.value(at: source.pointer), value != .null, value != "" else { return .absent }
        // A list of an API may go on on another page.
        if source.call != nil, value.array.map({ !$0.isEmpty }) ?? false { return .unknown }
        guard let filter = source.filter else { return ClaimValue(value).map(ClaimReading.value) ?? .unknown }
        let elements = filter.elements(of: value)
        let found = elements.compactMap { $0.value(at: source.tail) }.filter { $0 != .null }
        let isWhole = (value.array?.count ?? .max) <= ElementFilter.maxElements && found.count == elements.count
        guard isWhole, let list = ClaimValue(.array(found)) else { return .unknown }
        return found.isEmpty ? .absent : .value(list)
    }

    /// The claims of the ID token alone; nil without one.
    var signedClaims: JSON? { self.signed ?? self.idToken }

    /// Whether the token announces groups that it does not list.
    ///
    /// OpenID Connect Core §5.6.2; the addresses of such sources are never called.
    package var hasGroupsElsewhere: Bool {
        self.idToken?.value(at: "/_claim_names/groups") != nil || self.idToken?["hasgroups"]?.profileBool == true
    }

    /// Whether the ID token lists all groups.
    package var listsGroups: Bool {
        !self.hasGroupsElsewhere && self.idToken?["groups"].map { $0 != .null } ?? false
    }

    private func document(_ document: ClaimSource.Document) -> JSON? {
        switch document {
        case .idToken: self.idToken
        case .userinfo: self.userinfo
        case .api(let path): self.api[path]
        case .callback: self.callback
        case .constant: nil
        }
    }
}

/// The names that look-ups at a provider found.
package struct LookedUpNames: Sendable, Hashable {
    /// The names, in the provider's order.
    package var names: [String]
    /// Whether these are all of them.
    package var isComplete: Bool

    package init(_ names: [String], isComplete: Bool) {
        self.names = names
        self.isComplete = isComplete
    }
}
