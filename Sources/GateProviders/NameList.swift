// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Groups or roles as a provider listed them: sorted, each once, bounded.
struct NameList {
    private static let maximumCount = 1000
    private static let maximumBytes = 65_536

    /// The names.
    let names: [String]
    /// Whether nothing had to be left out.
    let isComplete: Bool

    /// Reads an array of names, or one name.
    ///
    /// A single text is one name and is not split at spaces or commas: a group that is called `guests, admins` must
    /// not make anybody an administrator.
    init(_ value: JSON?) {
        guard let value else {
            self.names = []
            self.isComplete = true
            return
        }
        let elements = value.array ?? [value]
        let texts = elements.compactMap { PlainText.checked($0.profileText, limit: 1024) }
        let sorted = Set(texts).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var names: [String] = []
        var bytes = 0
        for text in sorted.prefix(NameList.maximumCount) {
            bytes += text.utf8.count
            guard bytes <= NameList.maximumBytes else { break }
            names.append(text)
        }
        self.names = names
        self.isComplete = texts.count == elements.count && names.count == sorted.count
    }
}
