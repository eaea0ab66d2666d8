// SPDX-License-Identifier: Apache-2.0

/// Looks up the meaning of a field name, with one hash and one comparison.
///
/// Built once for a configuration, because apps may name their own identity fields, which are removed from client
/// requests on every route.
package final class FieldNames: Sendable {
    /// Positions in `names`, from 1; 0 is an empty slot.
    ///
    /// At least three in four are empty.
    private let slots: [UInt32]
    /// One less than the number of slots, which is a power of two.
    private let mask: Int
    /// The names in lower case, one after the other, as words of eight bytes; the last of a name overlaps the one before.
    private let words: [UInt64]
    /// The length of each name, and where its words begin.
    private let names: [(length: Int, word: Int)]
    private let meanings: [FieldName]
    /// The prefixes of managed names by their first letter, from `a`.
    private let prefixes: [[[UInt8]]]

    /// The names in responses of apps, where only the gateway's own family is managed.
    package static let response = FieldNames(
        FieldName.allCases.filter { $0 != .managed }.flatMap { name in name.spellings.map { ($0, name) } },
        prefixes: ["x-gatehouse-"]
    )

    /// The names in requests, and more names that only the gateway may set, in any letter case.
    ///
    /// - Parameter identity: Names in which apps take an identity field; each protects its whole family, since an app
    ///   that reads `X-WEBAUTH-USER` may read `X-WEBAUTH-ROLE` too.
    package convenience init(alsoManaged identity: [String] = []) {
        let own = FieldName.allCases.flatMap { name in name.spellings.map { ($0, name) } }
        let names = identity.map { $0.lowercased() }
        let more = names.map { ($0, FieldName.managed) }
        let credentials = FieldName.credentials.filter { !names.contains($0) }.map { ($0, FieldName.other) }
        // The first wins: a name from which an app takes an identity is managed whatever else it means.
        self.init(more + own + credentials, prefixes: FieldName.managedPrefixes + names.compactMap(FieldNames.family))
    }

    /// The prefix of a family of names: all up to the last `-`, unless that is only `x-` or a prefix of names of HTTP
    /// itself.
    ///
    /// `User-Email` does not protect `User-`, since that is a prefix of `User-Agent`.
    private static func family(of name: String) -> String? {
        guard let dash = name.lastIndex(of: "-"), let first = name.firstIndex(of: "-") else { return nil }
        let family = name[...dash]
        guard family.count > 2, !FieldName.commonBeginnings.contains(String(name[..<first])) else { return nil }
        return String(family)
    }

    private init(_ entries: [(spelling: String, meaning: FieldName)], prefixes: [String]) {
        var slotCount = 1024
        while slotCount < entries.count * 4 {
            slotCount *= 2
        }
        var slots = [UInt32](repeating: 0, count: slotCount)
        var known: Set<String> = []
        var words: [UInt64] = []
        var names: [(length: Int, word: Int)] = []
        var meanings: [FieldName] = []
        for (spelling, meaning) in entries {
            let bytes = Array(spelling.utf8)
            guard known.insert(spelling).inserted else { continue }
            var slot = Int(bytes.reduce(FieldNames.seed, FieldNames.step)) & (slotCount - 1)
            while slots[slot] != 0 {
                slot = (slot + 1) & (slotCount - 1)
            }
            names.append((bytes.count, words.count))
            words += FieldNames.offsets(ofLength: bytes.count).map {
                FieldNames.word(of: bytes.span, from: $0, to: bytes.count)
            }
            meanings.append(meaning)
            slots[slot] = UInt32(meanings.count)
        }
        self.slots = slots
        self.mask = slotCount - 1
        self.words = words
        self.names = names
        self.meanings = meanings
        self.prefixes = (UInt8(ascii: "a")...UInt8(ascii: "z")).map { letter in
            Set(prefixes).map { Array($0.utf8) }.filter { $0.first == letter }
        }
    }

    /// The hash of an empty name.
    static let seed: UInt32 = 0x811C_9DC5

    /// The hash with one more byte, ignoring letter case.
    ///
    /// FNV-1a.
    static func step(_ hash: UInt32, _ byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte | 0x20)) &* 0x0100_0193
    }

    /// The meaning of the name in `bytes[range]`, whose hash the caller has computed while checking it.
    func meaning(of bytes: Span<UInt8>, in range: Range<Int>, hash: UInt32) -> FieldName {
        var slot = Int(hash) & self.mask
        while self.slots[slot] != 0 {
            let index = Int(self.slots[slot]) - 1
            if self.isName(index, bytes, range) { return self.meanings[index] }
            slot = (slot + 1) & self.mask
        }
        let letter = Int(bytes[range.lowerBound] | 0x20) - 0x61
        guard self.prefixes.indices.contains(letter) else { return .other }
        for prefix in self.prefixes[letter] where FieldNames.begins(prefix, bytes, range) {
            return .managed
        }
        return .other
    }

    /// The meaning of a name of token characters that are not all letters, digits and `-`; nil for a forged one.
    ///
    /// CGI and its successors map such characters and `-` to the same `_`, so `X_Forwarded_User` is `X-Forwarded-User`
    /// to many apps.
    func meaning(ofIrregular name: Span<UInt8>) -> FieldName? {
        // No client in use escapes names, and servers disagree on what an escape means there.
        guard !name.indices.contains(where: { name[$0] == UInt8(ascii: "%") }) else { return nil }
        let regular = name.indices.map { ByteClass.isPlainName(name[$0]) ? name[$0] : UInt8(ascii: "-") }
        let hash = regular.reduce(FieldNames.seed, FieldNames.step)
        let meaning = self.meaning(of: regular.span, in: 0..<regular.count, hash: hash)
        guard !meaning.isForgedIfIrregular else { return nil }
        return meaning == .other ? .irregular : .disguised
    }

    /// The meaning of a name as text, for lists such as `Connection`.
    package func meaning(of name: String) -> FieldName {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty else { return .other }
        return self.meaning(of: bytes.span, in: 0..<bytes.count, hash: bytes.reduce(FieldNames.seed, FieldNames.step))
    }

    /// Whether a known name is in `bytes[range]`, in any letter case; looks at eight bytes at a time.
    ///
    /// Setting bit 5 makes lower-case letters of upper-case ones and leaves the other characters of regular names. Of the other
    /// token characters, which are in names of responses only, `^` and `~` are taken for the same.
    private func isName(_ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let name = self.names[index]
        guard name.length == range.count else { return false }
        let cases: UInt64 = 0x2020_2020_2020_2020
        var place = name.word
        for offset in FieldNames.offsets(ofLength: range.count) {
            let word = FieldNames.word(of: bytes, from: range.lowerBound + offset, to: range.upperBound)
            guard word | cases == self.words[place] | cases else { return false }
            place += 1
        }
        return true
    }

    /// Where the words of a name begin.
    private static func offsets(ofLength length: Int) -> some Sequence<Int> {
        let last = max(0, length - 8)
        return stride(from: 0, to: last + 8, by: 8).lazy.map { min($0, last) }
    }

    /// Eight bytes, the first in the lowest byte; fewer at the end, with zeros after them.
    private static func word(of bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        guard end - start < 8 else {
            return unsafe UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
        }
        return (start..<end).reduce(0) { $0 | UInt64(bytes[$1]) << UInt64(8 * ($1 - start)) }
    }

    private static func begins(_ prefix: [UInt8], _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard prefix.count <= range.count else { return false }
        for index in prefix.indices {
            let byte = bytes[range.lowerBound + index]
            let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
            guard lower == prefix[index] else { return false }
        }
        return true
    }
}
