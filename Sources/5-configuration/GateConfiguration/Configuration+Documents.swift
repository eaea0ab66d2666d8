// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

// The documents built from the description that decodes the file: the JSON Schema and the reference.
extension Configuration {
    /// The JSON Schema of `providers.yaml`, with a line break at its end.
    ///
    /// JSON Schema draft 2020-12.
    package static var jsonSchema: String {
        var members = Mapping<FileDraft>.file.shape.schema.object ?? [:]
        members["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        members["title"] = "providers.yaml of Gatehouse"
        members["$defs"] = [
            "reference": [
                "type": "string", "pattern": .string(Schema.referencePattern),
                "description": "The value of an environment variable or the text of a file.",
            ],
            "entry": EntryDraft.schema,
        ]
        return JSON.object(members).pretty() + "\n"
    }

    /// The reference of `providers.yaml` as Markdown, which is `docs/configuration.md`.
    package static var reference: String {
        var seen: Set<String> = []
        let sections = Mapping<FileDraft>.file.shape.sections.filter { seen.insert($0.path).inserted }
        return self.opening + sections.map(self.table).joined()
    }

    private static func table(of section: Section) -> String {
        let rows = section.rows.map { row in
            let cells = ["`\(row.key)`", row.kind, row.default, row.summary].map(self.escaped)
            return "| \(cells.joined(separator: " | ")) |\n"
        }
        let head =
            "\n## `\(section.path)`\n\n\(section.summary)\n\n"
            + "| key | value | default | description |\n|---|---|---|---|\n"
        return head + rows.joined()
    }

    private static func escaped(_ cell: String) -> String {
        cell.replacing("|", with: "\\|")
    }

    private static let opening = """
        # The configuration file

        `gatehouse check` reads `providers.yaml` as `gatehouse serve` does and reports all errors at once. This page and
        [`providers.schema.json`](providers.schema.json), which editors can use, are generated from the code that reads
        the file.

        - Unknown keys, duplicate keys and values of a wrong type are errors.
        - `${env:NAME}` and `${file:/path}` are replaced by the value of an environment variable or the text of a file of
          at most 64 KiB, without the line break at its end. A reference is a whole value, never a part of one. A secret
          in clear text is a warning.
        - Durations are whole numbers with units, the longest unit first: `30s`, `15m`, `1h30m`, `7d`, `1w`; where they may
          be shorter than a second, `500ms` too. Sizes are a number of bytes, or have a unit: `32KiB`, `100MiB`, `1GiB`.
        - Relative paths of files that the gateway reads are resolved against the folder of `providers.yaml`, those of
          files that it writes against the working directory.
        - Anchors and aliases are supported; merge keys (`<<`) and tags are not. The file may have 16 MiB, 32 levels and
          1,000,000 values, aliases expanded.
        - A key with an earlier name accepts that name with a warning.

        """
}
