// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// Adds the included files and the defaults of apps to the document of the configuration file.
///
/// Everything keeps the location where it is written, so that messages and decisions name that.
enum FileMerge {
    private static let parts = ["providers", "apps", "rules", "issuers", "service_tokens", "clients"]

    /// The document with the parts of all files, and with the defaults in each app.
    static func merged(_ root: YAMLNode, _ reading: inout DecodingContext) -> YAMLNode {
        guard var entries = root.entries else { return root }
        for file in self.included(by: entries, &reading) {
            for entry in file.entries ?? [] { self.add(entry, to: &entries, &reading) }
        }
        self.addDefaults(to: &entries)
        return root.with(.mapping(entries))
    }

    private static func included(by entries: [YAMLEntry], _ reading: inout DecodingContext) -> [YAMLNode] {
        guard let node = entries.first(where: { $0.name == "include" })?.value,
            let files = Shape<[String]>.includedFiles.read(node, &reading)
        else { return [] }
        var limit = DecodingContext.maxFileSize
        return zip(files, node.elements ?? []).compactMap { file, element in
            reading.include(file, limit: &limit, at: element.mark)
        }
    }

    private static func add(_ entry: YAMLEntry, to entries: inout [YAMLEntry], _ reading: inout DecodingContext) {
        guard self.parts.contains(entry.name) else {
            let help =
                entry.name == "include"
                ? "an included file cannot include others; list them in the configuration file"
                : "an included file has 'providers', 'issuers', 'service_tokens', 'clients', 'apps' and 'rules' only"
            return reading.error("\(Scalar.quoted(entry.name)) cannot be here; \(help)", at: entry.key.mark)
        }
        guard let index = entries.firstIndex(where: { $0.name == entry.name }) else { return entries.append(entry) }
        let own = entries[index]
        guard let known = own.value.entries, let further = entry.value.entries else {
            // Another value than a mapping is reported where it is.
            if entry.value.entries == nil { reading.wrongType(entry.value, kind: "a mapping of names") }
            return
        }
        entries[index] = YAMLEntry(name: own.name, key: own.key, value: own.value.with(.mapping(known + further)))
    }

    /// Adds to each app the defaults that it does not replace; entries of `deny` are added to its own.
    private static func addDefaults(to entries: inout [YAMLEntry]) {
        guard let defaults = entries.first(where: { $0.name == "defaults" })?.value.entries,
            let index = entries.firstIndex(where: { $0.name == "apps" }), let apps = entries[index].value.entries
        else { return }
        let known = defaults.filter { Mapping<FileDraft>.defaultNames.contains($0.name) }
        let merged = apps.map { app in
            guard let own = app.value.entries else { return app }
            let content = self.merged(own, with: known)
            return YAMLEntry(name: app.name, key: app.key, value: app.value.with(.mapping(content)))
        }
        let whole = entries[index]
        entries[index] = YAMLEntry(name: whole.name, key: whole.key, value: whole.value.with(.mapping(merged)))
    }

    private static func merged(_ own: [YAMLEntry], with defaults: [YAMLEntry]) -> [YAMLEntry] {
        var content = own
        for entry in defaults {
            guard let index = own.firstIndex(where: { $0.name == entry.name }) else {
                content.append(entry)
                continue
            }
            guard entry.name == "deny", let written = own[index].value.elements, let further = entry.value.elements
            else { continue }
            let value = own[index].value.with(.sequence(further + written))
            content[index] = YAMLEntry(name: entry.name, key: own[index].key, value: value)
        }
        return content
    }
}
