// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateYAML

/// The claims of a source, by the names that the result gives them in `claims` of a provider.
///
/// All claims of a source are named at once, so that two that differ in a letter only have two names.
struct ImportedClaims: Sendable {
    /// As many as a provider may define.
    private static let limit = 64
    private static let maxName = 50

    private var names: [String: String] = [:]
    private var sources: [(name: String, sources: YAMLValue)] = []

    /// Names claims.
    ///
    /// - Parameters:
    ///   - claims: The names or paths of the source; those after the first 64 have no name.
    ///   - documents: What the product reads a claim from, first the one whose value counts.
    init(_ claims: [String], from documents: [ClaimPath.Document]) {
        var taken: Set<String> = []
        for claim in claims where self.names[claim] == nil && taken.count < ImportedClaims.limit {
            guard let sources = ClaimPath(claim)?.sources(in: documents) else { continue }
            let base = ImportedClaims.name(from: claim)
            var name = base
            var number = 2
            while !taken.insert(name).inserted {
                name = "\(base)_\(number)"
                number += 1
            }
            self.names[claim] = name
            self.sources.append((name, sources))
        }
    }

    /// The name of a claim; nil if it has none.
    func name(of claim: String) -> String? { self.names[claim] }

    /// Those of some names, for the key `claims` of a provider.
    func mapping(of used: Set<String>) -> YAMLMapping {
        var mapping = YAMLMapping()
        for (name, sources) in self.sources where used.contains(name) { mapping.add(name, sources) }
        return mapping
    }

    /// The condition that a claim has a value; nil if it cannot be written.
    func condition(_ claim: String, is value: String) -> AccessCondition? {
        self.names[claim].flatMap { AccessCondition(claim: $0, is: value) }
    }

    /// `https_example_com_department` for `https://example.com/department`.
    private static func name(from claim: String) -> String {
        let bytes = claim.lowercased().utf8.map { byte -> UInt8 in
            let isKept = (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
            return isKept ? byte : UInt8(ascii: "_")
        }
        let words = bytes.split(separator: UInt8(ascii: "_")).map { String(decoding: $0, as: UTF8.self) }
        let name = String(words.joined(separator: "_").prefix(self.maxName))
        return NameRule.claimName.reason(name) == nil ? name : name.isEmpty ? "claim" : "claim_\(name)"
    }
}
