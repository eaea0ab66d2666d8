// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Groups or roles as a provider listed them: sorted, each once, bounded.
struct NameList {
    private static let maxCount = 5000
    private static let maxBytes = 262_144

    let names: [String]
    /// Whether nothing had to be left out.
    let isComplete: Bool

    /// Reads an array of names, or one name; `isWhole` means that the provider omitted nothing.
    ///
    /// A single text is one name and is not split at spaces or commas: a group that is called `guests, admins` must
    /// not make a user an administrator.
    init(_ value: JSON, isWhole: Bool = true) {
        let elements = value.array ?? [value]
        let texts = elements.compactMap { PrintableText.checked($0.profileText, limit: 1024) }
        var names: [String] = []
        var bytes = 0
        var isTruncated = false
        for text in texts.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where names.last.map({ !isIdentical($0, text) }) ?? true {
            bytes += text.utf8.count
            isTruncated = names.count == NameList.maxCount || bytes > NameList.maxBytes
            guard !isTruncated else { break }
            names.append(text)
        }
        self.names = names
        self.isComplete = isWhole && texts.count == elements.count && !isTruncated
    }
}
