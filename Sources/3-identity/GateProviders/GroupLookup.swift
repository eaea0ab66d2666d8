// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How a user's groups are fetched from a provider's API, as data.
package struct GroupLookup: Sendable, Hashable {
    package enum Occasion: Sendable, Hashable {
        /// At each sign-in.
        case always
        /// When the ID token does not list all groups: they do not fit, or the token was not configured to list them.
        case unlisted
    }

    /// How a response names the next page.
    package enum Paging: Sendable, Hashable {
        /// In the `Link` field with `rel="next"`. RFC 8288 §3.
        case link
        /// A token in that member of the response goes into that parameter of the next request.
        case token(member: String, parameter: String)
        case address(member: String)
    }

    /// Where the first page is; later ones must be on the same origin and path.
    package var address: WebURL
    /// The query, in whose values `{email}` is replaced by the user's verified email address.
    package var query: [Form.Field] = []
    /// The JSON body of a POST; nil for a GET.
    package var body: String?
    package var occasion = Occasion.always
    /// How pages follow one another.
    package var paging: Paging
    /// The JSON Pointer to the array of a response; empty for the response itself.
    package var elements: String
    /// The JSON Pointers to the parts of a name in an element, which `/` joins; empty for the element itself.
    package var name: [String]
    /// The scopes of which one must have been granted, or the response is incomplete; empty if none is needed.
    package var scopes: [String] = []
    /// The field, in lower case, and the beginning of its value, that marks an incomplete response.
    package var partialMark: Form.Field?

    /// Whether the query has the user's email address.
    package var namesEmail: Bool { self.query.contains { $0.value.contains("{email}") } }
}
