// SPDX-License-Identifier: Apache-2.0

import GateCore

@testable import GateProviders

/// What one type's payloads must become: a line for each field with its value and its source, `-` for none.
struct ProfileSheet: Sendable {
    /// One line of a sheet.
    struct Cell: Sendable, CustomStringConvertible {
        let sheet: ProfileSheet
        let field: String
        let value: String?
        let source: String?

        var description: String { "\(self.sheet.provider.type.name) \(self.field)" }
    }

    let provider: ProviderSettings
    let payloads: ProviderPayloads
    private let lines: String

    init(_ provider: ProviderSettings, _ payloads: ProviderPayloads, _ lines: String) {
        self.provider = provider
        self.payloads = payloads
        self.lines = lines
    }

    var cells: [Cell] {
        self.lines.split(separator: "\n").map { line in
            let parts = line.split(separator: " | ", omittingEmptySubsequences: false).map(String.init)
            return Cell(
                sheet: self,
                field: parts.first ?? "",
                value: parts.count == 3 && parts[1] != "-" ? parts[1] : nil,
                source: parts.count == 3 && parts[2] != "-" ? parts[2] : nil
            )
        }
    }

    /// The rows of the profile that these settings make of some payloads.
    static func rows(
        _ settings: ProviderSettings,
        _ payloads: ProviderPayloads
    ) throws -> [String: (value: String?, source: String?)] {
        let rows = try ProviderDefinition(settings).profile(from: payloads).rows
        return Dictionary(rows.map { ($0.field, ($0.value, $0.source)) }) { first, _ in first }
    }
}
