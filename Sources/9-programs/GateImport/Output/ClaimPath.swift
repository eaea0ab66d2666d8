// SPDX-License-Identifier: Apache-2.0

/// A claim as other products name it: by its name, or by a path with dots.
struct ClaimPath {
    /// What reports a claim.
    enum Document: String, Sendable {
        case idToken = "id_token"
        case userinfo
    }

    private let pointers: [String]

    /// Nil if the name cannot be written as a pointer.
    init?(_ claim: String) {
        func escaped(_ text: some StringProtocol) -> String {
            text.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
        }
        guard ConfigText(claim) != nil, !claim.contains("["), claim.utf8.count <= 200 else { return nil }
        let parts = claim.split(separator: ".", omittingEmptySubsequences: false)
        // A number would be the index of an element, which the other products do not look for.
        let isPath = parts.count > 1 && parts.allSatisfy { !$0.isEmpty && !$0.allSatisfy(\.isNumber) }
        let whole = "/\(escaped(claim))"
        self.pointers = isPath ? ["/" + parts.map { escaped($0) }.joined(separator: "/"), whole] : [whole]
    }

    /// The sources of a profile field or a claim, the documents in the order in which their values count.
    func sources(in documents: [Document] = [.idToken, .userinfo]) -> YAMLValue? {
        .texts(
            documents.flatMap { document in
                self.pointers.compactMap { ConfigText("\(document.rawValue):\($0)") }
            }
        )
    }
}
