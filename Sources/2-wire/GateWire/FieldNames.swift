// SPDX-License-Identifier: Apache-2.0

/// Looks up the meaning of a field name, with one hash and one comparison.
///
/// Built once for a configuration, because apps may name their own identity fields, which are removed from client
/// requests on every route.
package final class FieldNames: Sendable {
    /// A name of letters, digits and `-`, without its letter case, as words of eight bytes with the first in the lowest byte.
    private struct Name {
        let length: Int
        /// The first eight bytes, or all that there are.
        let first: UInt64
        /// The last eight, which may overlap the first, or all that there are.
        let last: UInt64

        init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
            self.length = range.count
            self.first = FieldNames.word(of: bytes, from: range.lowerBound, to: range.upperBound)
            self.last = FieldNames.word(
                of: bytes,
                from: max(range.lowerBound, range.upperBound - 8),
                to: range.upperBound
            )
        }
    }

    /// A prefix of managed names.
    private struct Prefix {
        /// Its first eight bytes, or all that there are.
        let word: UInt64
        /// Which bytes of a word those are.
        let mask: UInt64
    }

    /// Positions in `names`, from 1; 0 is an empty slot.
    ///
    /// At least three in four are empty.
    private let slots: [UInt32]
    /// One less than the number of slots, which is a power of two.
    private let mask: Int
    private let names: [Name]
    /// The words between the first and the last one of each name that is longer than 16; the last of them may overlap that.
    private let middles: [[UInt64]]
    private let meanings: [FieldName]
    /// The prefixes of managed names, in lower case, by group.
    private let spelledPrefixes: [[UInt8]]
    /// The beginning of each of them.
    private let prefixes: [Prefix]
    /// Where the prefixes of each group begin, and where those of the last one end; see ``group(of:)``.
    private let groupStarts: [UInt32]

    /// The names in responses of apps, where only the gateway's own family is managed.
    package static let response = FieldNames(
        FieldName.allCases.filter { $0 != .managed }.flatMap { name in name.spellings.map { ($0, name) } },
        prefixes: ["x-gatehouse-"]
    )

    /// The names in requests, and more names that only the gateway may set, in any letter case.
    ///
    /// - Parameters:
    ///   - identity: Names in which apps take an identity field; each protects its whole family, since an app that reads
    ///     `X-WEBAUTH-USER` may read `X-WEBAUTH-ROLE` too.
    ///   - further: More such names, which protect no family.
    package convenience init(alsoManaged identity: [String] = [], exactly further: [String] = []) {
        let own = FieldName.allCases.flatMap { name in name.spellings.map { ($0, name) } }
        let names = identity.map { $0.lowercased() }
        let more = (names + further.map(FieldSpelling.regular)).map { ($0, FieldName.managed) }
        let credentials = ManagedFields.credentials.filter { !names.contains($0) }.map { ($0, FieldName.other) }
        // The first wins: a name from which an app takes an identity is managed whatever else it means.
        self.init(more + own + credentials, prefixes: ManagedFields.prefixes + names.compactMap(FieldNames.family))
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
        var names: [Name] = []
        var middles: [[UInt64]] = []
        var meanings: [FieldName] = []
        for (spelling, meaning) in entries {
            let bytes = Array(spelling.utf8)
            guard known.insert(spelling).inserted else { continue }
            let name = Name(bytes.span, 0..<bytes.count)
            var slot = FieldNames.hash(name.first, name.last, name.length) & (slotCount - 1)
            while slots[slot] != 0 {
                slot = (slot + 1) & (slotCount - 1)
            }
            names.append(name)
            middles.append(
                FieldNames.middle(of: 0..<bytes.count).map {
                    FieldNames.word(of: bytes.span, from: $0, to: bytes.count)
                }
            )
            meanings.append(meaning)
            slots[slot] = UInt32(meanings.count)
        }
        self.slots = slots
        self.mask = slotCount - 1
        self.names = names
        self.middles = middles
        self.meanings = meanings
        let spelled = Set(prefixes).map { Array($0.utf8) }.sorted {
            FieldNames.group(of: $0) < FieldNames.group(of: $1)
        }
        self.spelledPrefixes = spelled
        self.prefixes = spelled.map { bytes in
            Prefix(
                word: FieldNames.word(of: bytes.span, from: 0, to: bytes.count),
                mask: bytes.count >= 8 ? .max : 1 << UInt64(8 * bytes.count) - 1
            )
        }
        var starts = [UInt32](repeating: 0, count: FieldNames.groupCount + 1)
        for prefix in spelled { starts[FieldNames.group(of: prefix) + 1] += 1 }
        for group in 1...FieldNames.groupCount { starts[group] += starts[group - 1] }
        self.groupStarts = starts
    }

    /// The first two letters of a name, or, of one that begins with `x-`, the third.
    private static let groupCount = 1024 + 32

    /// The group of the prefixes with which a name may begin, by its first word; `x-` alone has none.
    @inline(__always) private static func group(of first: UInt64) -> Int {
        let isExtension = first & 0xFFFF == 0x2D78
        return Int(truncatingIfNeeded: isExtension ? 1024 | first >> 16 & 31 : first & 31 | first >> 3 & 0x3E0)
    }

    private static func group(of prefix: [UInt8]) -> Int {
        self.group(of: self.word(of: prefix.span, from: 0, to: prefix.count))
    }

    /// A hash of a name, of its length and of its first and its last eight bytes.
    private static func hash(_ first: UInt64, _ last: UInt64, _ length: Int) -> Int {
        let product = (first ^ (last &* 0xC2B2_AE3D_27D4_EB4F) ^ UInt64(length))
            .multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: (product.high ^ product.low) >> 1)
    }

    /// The meaning of the name in `bytes[range]`.
    func meaning(of bytes: Span<UInt8>, in range: Range<Int>) -> FieldName {
        let first = FieldNames.word(of: bytes, from: range.lowerBound, to: range.upperBound)
        let last = FieldNames.word(of: bytes, from: max(range.lowerBound, range.upperBound - 8), to: range.upperBound)
        var slot = FieldNames.hash(first, last, range.count) & self.mask
        while self.slots[slot] != 0 {
            let index = Int(self.slots[slot]) - 1
            let name = self.names[index]
            if name.first == first, name.last == last, name.length == range.count,
                range.count <= 16 || self.hasMiddle(index, bytes, range)
            {
                return self.meanings[index]
            }
            slot = (slot + 1) & self.mask
        }
        let group = FieldNames.group(of: first)
        for index in Int(self.groupStarts[group])..<Int(self.groupStarts[group + 1])
        where (first ^ self.prefixes[index].word) & self.prefixes[index].mask == 0 {
            if FieldNames.begins(self.spelledPrefixes[index], bytes, range) { return .managed }
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
        let meaning = self.meaning(of: regular.span, in: 0..<regular.count)
        guard !meaning.isForgedIfIrregular else { return nil }
        return meaning == .other ? .irregular : .disguised
    }

    /// The meaning of a name as text, for lists such as `Connection`.
    package func meaning(of name: String) -> FieldName {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty else { return .other }
        return self.meaning(of: bytes.span, in: 0..<bytes.count)
    }

    /// Whether a long name in `bytes[range]` has the bytes of a known one between those that are the same.
    private func hasMiddle(_ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        zip(FieldNames.middle(of: range), self.middles[index]).allSatisfy {
            FieldNames.word(of: bytes, from: $0, to: range.upperBound) == $1
        }
    }

    /// Where the words between the first and the last one of a name begin.
    private static func middle(of range: Range<Int>) -> some Sequence<Int> {
        stride(from: range.lowerBound + 8, to: max(range.lowerBound + 8, range.upperBound - 8), by: 8)
    }

    /// Eight bytes, the first in the lowest byte; fewer at the end of the name, with zeros after them; in lower case.
    ///
    /// Setting bit 5 makes lower-case letters of upper-case ones and leaves the other characters of regular names. Of the other
    /// token characters, which are in names of responses only, `^` and `~` are taken for the same.
    @inline(__always) private static func word(of bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        let (length, cases) = (end - start, 0x2020_2020_2020_2020 as UInt64)
        guard start + 8 <= bytes.count else {
            return cases | (start..<end).reduce(0) { $0 | UInt64(bytes[$1]) << UInt64(8 * ($1 - start)) }
        }
        let word = unsafe bytes.bytes.eight(at: start)
        return cases | (length >= 8 ? word : word & (1 << UInt64(8 * length) - 1))
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
