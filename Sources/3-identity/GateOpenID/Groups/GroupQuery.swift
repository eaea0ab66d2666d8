// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// Builds the URLs of a lookup.
struct GroupQuery: Sendable {
    private static let placeholder = "{email}"
    private let lookup: GroupLookup

    init(_ lookup: GroupLookup) {
        self.lookup = lookup
    }

    /// The URL of the first page; nil if the query needs the verified email address and the user has none, or one that
    /// could change the meaning of the query.
    func address(for profile: Profile) -> WebURL? {
        guard self.lookup.namesEmail else { return self.address(self.lookup.query) }
        guard let email = profile.verifiedEmail, GroupQuery.isPlain("\(email)") else { return nil }
        return self.address(
            self.lookup.query.map { field in
                Form.Field(field.name, field.value.replacing(GroupQuery.placeholder, with: "\(email)"))
            }
        )
    }

    /// A URL with one parameter of its query replaced.
    func address(_ address: WebURL, setting field: Form.Field) -> WebURL? {
        guard let form = Form(encoded: address.query ?? "") else { return nil }
        return self.address(form.fields.filter { $0.name != field.name } + [field])
    }

    private func address(_ fields: [Form.Field]) -> WebURL {
        let base = self.lookup.address
        let query = fields.isEmpty ? base.query : Form(fields).encoded
        return WebURL(origin: base.origin, path: base.path, query: query)
    }

    /// Letters, digits and `._+-` around one `@`: nothing that ends a quoted text in a query language.
    private static func isPlain(_ email: String) -> Bool {
        let sides = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return sides.count == 2
            && sides.allSatisfy { side in
                !side.isEmpty
                    && side.allSatisfy { byte in
                        byte != UInt8(ascii: "~") && (PercentEncoding.isUnreserved(byte) || byte == UInt8(ascii: "+"))
                    }
            }
    }

    /// Resolves a reference against a URL; nil if the result is invalid.
    ///
    /// RFC 3986 §5.2, without the removal of dots: a path that needs it is not the same path.
    static func resolve(_ reference: String, against address: WebURL) -> WebURL? {
        if reference.contains("://"), let whole = WebURL(reference) { return whole }
        let folder = address.path.lastIndex(of: "/").map { address.path[...$0] } ?? "/"
        let path =
            switch reference.prefix(2) {
            case "//": "\(address.origin.scheme):\(reference)"
            case let start where start.hasPrefix("/"): "\(address.origin)\(reference)"
            case let start where start.hasPrefix("?"): "\(address.origin)\(address.path)\(reference)"
            default: "\(address.origin)\(folder)\(reference)"
            }
        return WebURL(path)
    }
}
