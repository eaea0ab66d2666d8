// SPDX-License-Identifier: Apache-2.0

/// A claim as other products name it: by its name, or by a path with dots.
struct ClaimPath {
    private let pointers: [String]

    /// Nil if the name cannot be written as a pointer.
    init?(_ claim: String) {
        func escaped(_ text: some StringProtocol) -> String {
            text.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
        }
        guard ConfigText(claim) != nil, !claim.contains("["), claim.utf8.count <= 200 else { return nil }
        let parts = claim.split(separator: ".", omittingEmptySubsequences: false).map { escaped($0) }
        let whole = "/\(escaped(claim))"
        self.pointers = parts.count > 1 && !parts.contains("") ? ["/" + parts.joined(separator: "/"), whole] : [whole]
    }

    /// The sources of a profile field, ID token first.
    var sources: YAMLValue? {
        .texts(
            ["id_token", "userinfo"].flatMap { document in self.pointers.compactMap { ConfigText("\(document):\($0)") }
            }
        )
    }
}
