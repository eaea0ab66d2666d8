// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// One lookup of groups, page by page, within limits that the provider cannot change.
///
/// Only the URL of the definition is called, with another query for each page: URLs in responses and tokens select
/// nothing but the query.
struct GroupPages: Sendable {
    static let maxPages = 50
    static let maxNames = 5000
    private static let maxPageSize = 262_144
    private static let maxTokenLength = 4096

    /// The names so far, in the provider's order.
    private(set) var names: [String] = []
    /// Why these are not all, as a sentence; nil if they are.
    private(set) var failureNote: String?

    private let lookup: GroupLookup
    private let call: ProviderCall
    private let access: APIAccess
    private let elapsed: @Sendable () -> Duration

    init(_ lookup: GroupLookup, call: ProviderCall, access: APIAccess, elapsed: @escaping @Sendable () -> Duration) {
        self.lookup = lookup
        self.call = call
        self.access = access
        self.elapsed = elapsed
    }

    /// Fetches page after page; a failure becomes ``failureNote`` and keeps the names that were found.
    ///
    /// - Parameters:
    ///   - profile: The user, whose verified email address some lookups need.
    ///   - maxNames: How many names may be added.
    mutating func run(for profile: Profile, maxNames: Int) async {
        guard let first = GroupQuery(self.lookup).address(for: profile) else {
            self.failureNote = self.note(
                "was not called: the user has no verified email address that fits into its query"
            )
            return
        }
        var called: Set<WebURL> = []
        var next: WebURL? = first
        while let address = next {
            guard called.insert(address).inserted else { return self.end("leads to the same page again") }
            guard called.count <= GroupPages.maxPages else {
                return self.end("has more than \(GroupPages.maxPages) pages")
            }
            do throws(Failure) {
                let page = try await self.page(at: address, isFirst: called.count == 1)
                try self.read(page.json, maxNames: maxNames)
                next = try self.next(after: page, first: first)
            } catch {
                return self.end(error.reason == .providerGroupsIncomplete ? error.detail : "failed: \(error.detail)")
            }
        }
    }

    private mutating func end(_ reason: String) {
        self.failureNote = self.failureNote ?? self.note(reason)
    }

    private func note(_ reason: String) -> String {
        "The lookup of groups at \(self.lookup.address.path) \(reason)."
    }
}

extension GroupPages {
    private func page(
        at address: WebURL,
        isFirst: Bool
    ) async throws(Failure) -> (response: ProviderResponse, json: JSON) {
        let left = GroupResolver.budget - self.elapsed()
        guard left > .zero else {
            throw self.failure("took longer than \(GroupResolver.budget.wholeSeconds) seconds")
        }
        let request = self.access.request(
            address,
            body: self.repeatsBody || isFirst ? self.lookup.body : nil,
            limit: GroupPages.maxPageSize,
            timeout: left
        )
        let response = try await self.call.transport.response(to: request, provider: self.call.provider)
        try ProviderCall.check(response, to: request)
        do throws(Failure) {
            return (response, try ProviderCall.json(response, from: address, accessToken: self.access.accessToken))
        } catch {
            guard error.isAPIRejection else { throw error }
            throw self.failure("was rejected: \(error.detail). Grant the app the scope or permission for this call")
        }
    }

    /// Whether each page repeats the first request; the URL of a next page is only used with GET.
    private var repeatsBody: Bool {
        guard case .token = self.lookup.paging else { return false }
        return true
    }

    private func failure(_ detail: String) -> Failure {
        Failure(.providerGroupsIncomplete, detail)
    }

    /// Adds the names of a page; invalid names are skipped and reported.
    private mutating func read(_ json: JSON, maxNames: Int) throws(Failure) {
        guard let elements = self.elements(of: json) else { throw self.failure("returned no list") }
        for element in elements {
            guard self.names.count < maxNames else {
                throw self.failure("lists more than \(GroupPages.maxNames) names")
            }
            if let name = self.name(of: element) {
                self.names.append(name)
            } else {
                self.end("lists something that cannot be a name")
            }
        }
    }

    /// Google's APIs leave an empty list out; with all others the list must be there.
    private func elements(of json: JSON) -> [JSON]? {
        guard let value = json.value(at: self.lookup.elements) else {
            guard case .token = self.lookup.paging, json.object != nil else { return nil }
            return []
        }
        return value.array
    }

    /// The parts of a name; a `/` inside of one would let an organization pass as another's team.
    private func name(of element: JSON) -> String? {
        var parts: [String] = []
        for pointer in self.lookup.name {
            guard let part = element.value(at: pointer)?.groupName else { return nil }
            parts.append(part)
        }
        return parts.isEmpty ? nil : parts.joined(separator: "/")
    }

    /// Where the next page is; nil after the last.
    private mutating func next(
        after page: (response: ProviderResponse, json: JSON),
        first: WebURL
    ) throws(Failure) -> WebURL? {
        if let mark = self.lookup.partialMark, page.response.contains(mark) {
            self.end("is incomplete: \(mark.name) is \(mark.value)")
        }
        switch self.lookup.paging {
        case .link:
            switch NextLink.after(page.response) {
            case .none: return nil
            case .unreadable: throw self.failure("has a Link field that cannot be read")
            case .at(let target): return try self.resolved(target, first)
            }
        case .token(let member, let parameter):
            guard let token = try self.text(member, of: page.json) else { return nil }
            return GroupQuery(self.lookup).address(first, setting: Form.Field(parameter, token))
        case .address(let member):
            return try self.text(member, of: page.json).map { (target) throws(Failure) in
                try self.resolved(target, first)
            }
        }
    }

    /// The text of a member that names the next page; nil where it is missing or empty.
    private func text(_ member: String, of json: JSON) throws(Failure) -> String? {
        switch json[member] {
        case nil, .null?, .string("")?: return nil
        case .string(let text)? where text.utf8.count <= GroupPages.maxTokenLength: return text
        default: throw self.failure("names its next page in a form that cannot be read")
        }
    }

    /// The URL of a next page, on the same origin and path: a response must not send the user's token elsewhere.
    private func resolved(_ target: String, _ first: WebURL) throws(Failure) -> WebURL {
        guard let next = GroupQuery.resolve(target, against: first), next.origin == first.origin,
            next.path == first.path
        else {
            // Without its query, in which the provider may have repeated the token.
            let place = ReceivedText.quoted(target.prefix { $0 != "?" })
            throw self.failure("names a next page elsewhere, \(place), which was not called")
        }
        return next
    }
}

extension ProviderResponse {
    /// Whether a field of that name begins with that value.
    fileprivate func contains(_ mark: Form.Field) -> Bool {
        self.headers.contains { $0.name == mark.name && $0.value.lowercased().hasPrefix(mark.value) }
    }
}

extension JSON {
    /// A text or a whole number that can be one part of a name.
    fileprivate var groupName: String? {
        let text: String? =
            switch self {
            case .string(let text): text
            case .number(let text) where text.utf8.allSatisfy({ (0x30...0x39).contains($0) }): text
            case .number, .null, .bool, .array, .object: nil
            }
        guard let text, (1...1024).contains(text.utf8.count), !text.utf8.contains(UInt8(ascii: "/")) else { return nil }
        return text
    }
}
