// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How a person's groups are asked for at a provider's API, as data.
package struct GroupLookup: Sendable, Hashable {
    /// When the look-up is made.
    package enum Occasion: Sendable, Hashable {
        /// At each sign-in.
        case always
        /// When the ID token does not list all groups: it has no room for them, or nobody asked it to.
        case unlisted
    }

    /// How an answer says where the next page is.
    package enum Paging: Sendable, Hashable {
        /// In the `Link` field with `rel="next"`. RFC 8288 §3.
        case link
        /// A token in that member of the answer goes into that parameter of the next request.
        case token(member: String, parameter: String)
        /// A whole address in that member.
        case address(member: String)
    }

    /// Where the first page is; later ones must be on the same origin and path.
    package var address: WebURL
    /// The query, in whose values `{email}` stands for the person's verified address.
    package var query: [Form.Field] = []
    /// The JSON body of a POST; nil for a GET.
    package var body: String?
    /// When the look-up is made.
    package var occasion = Occasion.always
    /// How pages follow one another.
    package var paging: Paging
    /// The JSON Pointer to the array of an answer; empty for the answer itself.
    package var elements: String
    /// The JSON Pointers to the parts of a name in an element, which `/` joins; empty for the element itself.
    package var name: [String]
    /// The scopes of which one must have been granted, or the answer leaves things out; empty if none is needed.
    package var scopes: [String] = []
    /// The field, in lower case, and the beginning of its value, by which the provider says that something is missing.
    package var partialMark: Form.Field?

    /// Whether the query names the person's address.
    package var namesEmail: Bool { self.query.contains { $0.value.contains("{email}") } }
}
