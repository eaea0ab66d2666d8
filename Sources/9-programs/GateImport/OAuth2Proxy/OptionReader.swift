// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// Collects the options of oauth2-proxy from all files of an import.
struct OptionReader {
    private(set) var settings = OptionSettings()
    /// Bounds the time for a file with many unknown options.
    private var hintsLeft = 200
    private static let prefix = "OAUTH2_PROXY_"

    /// Reads a `.cfg`.
    mutating func read(configuration file: ImportFile, _ notes: inout ImportNotes) throws(ImportFailure) {
        for entry in try ConfigFileReader(file).entries() {
            let values = entry.values.map { SourceValue.literal($0) }
            self.add(entry.key, values, splits: !entry.isList, .file, at: entry.place, &notes)
        }
    }

    /// Reads `OAUTH2_PROXY_…=value` lines; other variables are skipped.
    ///
    /// A line may begin with `export`, with the `-` of a list in YAML, or with the `Environment=` of systemd; or it is
    /// the `name` of a variable in a manifest of Kubernetes.
    mutating func read(environment file: ImportFile, _ notes: inout ImportNotes) throws(ImportFailure) {
        let lines = try file.lines()
        for (index, line) in lines.enumerated() {
            if let found = ManifestVariable(at: index, in: lines, prefix: OptionReader.prefix) {
                let variable = OptionReader.prefix + found.name
                let name = String(found.name)
                self.add(name, [found.value], splits: true, .environment, variable: variable, at: line.place, &notes)
                continue
            }
            let trimmed = line.text.drop { " \t-\"'".contains($0) }
            guard !trimmed.hasPrefix("#"), let start = trimmed.firstRange(of: OptionReader.prefix) else { continue }
            let lead = trimmed[..<start.lowerBound]
            guard lead.isEmpty || lead.hasPrefix("export") || lead.hasPrefix("Environment=") else {
                // A comment, the use of a variable, or its key in a secret.
                guard !lead.contains("#"), !lead.contains("$"), !lead.contains("key") else { continue }
                let help = "write each variable on a line of its own, as NAME=value, in a file for --env"
                notes.warning(
                    "the value of this variable is not found, so every app is denied to all users; \(help)",
                    at: line.place
                )
                self.settings.addHiddenRestriction()
                continue
            }
            let rest = trimmed[start.upperBound...]
            let name = rest.prefix { $0 != "=" && $0 != ":" && $0 != " " }
            guard let sign = rest[name.endIndex...].first, sign == "=" || sign == ":" else { continue }
            var text = rest[name.endIndex...].dropFirst().drop { $0 == " " }
            while text.last == " " || text.last == "\t" { text.removeLast() }
            let value = OptionReader.unquoted(text)
            let variable = OptionReader.prefix + name
            self.add(String(name), [value], splits: true, .environment, variable: variable, at: line.place, &notes)
        }
    }

    /// The value of a line, which may be in quotes; a value that is one variable as a whole is that variable.
    private static func unquoted(_ text: Substring) -> SourceValue {
        var text = text
        for quote: Character in ["\"", "'"] where text.last == quote {
            text = text.first == quote && text.count > 1 ? text.dropFirst().dropLast() : text.dropLast()
            break
        }
        return SourceValue(expanding: String(text))
    }

    /// Reads flags, and variables beside them, such as those of a compose file.
    mutating func read(flags file: ImportFile, _ notes: inout ImportNotes) throws(ImportFailure) {
        for flag in try FlagReader(file).flags() {
            self.add(flag.name, [flag.value ?? .literal("true")], splits: true, .flags, at: flag.place, &notes)
        }
        try self.read(environment: file, &notes)
    }

    /// Adds an option, which may be unknown.
    mutating func add(
        _ name: String,
        _ values: [SourceValue],
        splits: Bool,
        _ layer: OptionSetting.Layer,
        variable: String? = nil,
        at place: ImportPlace,
        _ notes: inout ImportNotes
    ) {
        guard let option = OAuth2ProxyOption.named(name) else {
            return self.addUnknown(name, at: place, &notes)
        }
        var values = values
        if option.kind == .list, splits { values = values.flatMap(OptionReader.elements) }
        let setting = OptionSetting(option: option, values: values, layer: layer, place: place, variable: variable)
        if setting.isUnknown, option.kind != .secret, option.restricts {
            notes.warning("'\(option.name)' is the value of a variable; every app is denied to all users", at: place)
            self.settings.addHiddenRestriction()
        } else if setting.isUnknown, option.kind == .list || option.kind == .flag, case .carried = option.fate {
            notes.warning("'\(option.name)' is the value of a variable, which is not carried over", at: place)
        }
        self.settings.add(setting)
    }

    /// Notes that an option that may restrict access could not be read.
    mutating func hideRestriction() {
        self.settings.addHiddenRestriction()
    }

    /// Notes an unknown option, without its value, which may be a secret.
    mutating func addUnknown(_ name: String, at place: ImportPlace, _ notes: inout ImportNotes) {
        let shown = Scalar.quoted(name)
        self.hintsLeft -= 1
        let known = self.hintsLeft > 0 ? OAuth2ProxyOption.all.map(\.name) : []
        let near = Hint.nearest(to: name, in: known).map { "; did you mean '\($0)'?" } ?? ""
        let effect = "it may restrict access, so every app is denied to all users"
        notes.warning("the option \(shown) is unknown; \(effect)\(near)", at: place)
        self.settings.addHiddenRestriction()
    }

    /// The elements of a list that is written as one text.
    private static func elements(of value: SourceValue) -> [SourceValue] {
        guard case .literal(let text) = value else { return [value] }
        return text.split(separator: ",").map { part in
            let start = part.drop { $0 == " " || $0 == "\"" }
            return .literal(String(start.reversed().drop { $0 == " " || $0 == "\"" }.reversed()))
        }
    }
}
