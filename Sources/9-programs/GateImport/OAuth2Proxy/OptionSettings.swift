// SPDX-License-Identifier: Apache-2.0

/// A value of an option.
enum SourceValue: Sendable, Hashable {
    case literal(String)
    /// The value of an environment variable.
    case variable(String)
    /// A text with variables in it, which has no counterpart here.
    case mixed

    /// The value of a text in which `$NAME`, `${NAME}` and `$(NAME)` are variables.
    ///
    /// A `$` before anything else means itself, as at the end of an expression.
    init(expanding text: String) {
        var names = 0
        var rest = text[...]
        while let sign = rest.firstIndex(of: "$") {
            let after = rest[rest.index(after: sign)...]
            // `$$` is how compose files and manifests write a single one.
            let isEscaped = after.hasPrefix("$")
            let isVariable =
                after.first.map { $0 == "{" || $0 == "(" || $0 == "_" || $0.isASCII && $0.isLetter } ?? false
            names += isVariable ? 1 : 0
            rest = isEscaped ? after.dropFirst() : after
        }
        guard names > 0 else {
            self = .literal(text.replacing("$$", with: "$"))
            return
        }
        var inner = text.dropFirst()
        if inner.hasPrefix("{") && inner.hasSuffix("}") || inner.hasPrefix("(") && inner.hasSuffix(")") {
            inner = inner.dropFirst().dropLast()
        }
        let isWhole = names == 1 && text.hasPrefix("$") && ConfigText(environment: String(inner)) != nil
        self = isWhole ? .variable(String(inner)) : .mixed
    }
}

/// An option with its values and where they are.
struct OptionSetting: Sendable {
    /// A way to give options; a later one wins, as with oauth2-proxy.
    enum Layer: Int, Sendable, Comparable {
        case file
        case environment
        case flags
        case alpha

        static func < (left: Layer, right: Layer) -> Bool { left.rawValue < right.rawValue }
    }

    let option: OAuth2ProxyOption
    var values: [SourceValue]
    let layer: Layer
    let place: ImportPlace
    /// The variable that holds the value, if the environment is where it was found.
    var variable: String?

    /// The texts that are known.
    var texts: [String] {
        self.values.compactMap { value in
            guard case .literal(let text) = value, !text.isEmpty else { return nil }
            return text
        }
    }

    /// Whether a value is not known, as it is that of a variable.
    var isUnknown: Bool { self.values.contains { value in if case .literal = value { false } else { true } } }
}

/// All options of an import.
struct OptionSettings: Sendable {
    private var byName: [String: OptionSetting] = [:]
    /// Whether an option that could not be read may have restricted access.
    private(set) var hidesRestriction = false

    /// Adds an option; a list of the same layer is continued, any other value is replaced by that of a higher layer.
    mutating func add(_ setting: OptionSetting) {
        var setting = setting
        if let earlier = self.byName[setting.option.name] {
            guard earlier.layer <= setting.layer else { return }
            if earlier.layer == setting.layer, setting.option.kind == .list {
                setting.values = earlier.values + setting.values
            }
        }
        self.byName[setting.option.name] = setting
    }

    /// Notes an option that cannot be read and may have restricted access.
    mutating func addHiddenRestriction() {
        self.hidesRestriction = true
    }

    subscript(name: String) -> OptionSetting? { self.byName[name] }

    /// The settings by place.
    var all: [OptionSetting] {
        self.byName.values.sorted {
            ($0.place.file, $0.place.line, $0.option.name) < ($1.place.file, $1.place.line, $1.option.name)
        }
    }

    /// The text of an option; nil if it is not set or not known.
    func text(_ name: String) -> String? { self.byName[name]?.texts.last }

    func list(_ name: String) -> [String] { self.byName[name]?.texts ?? [] }

    /// A yes or no, as Go reads it.
    func flag(_ name: String, else standard: Bool) -> Bool {
        guard let text = self.text(name)?.lowercased() else { return standard }
        return ["1", "t", "true"].contains(text) || (standard && !["0", "f", "false"].contains(text))
    }
}

extension OptionSettings {
    /// The text of an option as a scalar; nil, and a warning, if it cannot be written.
    func scalar(_ name: String, _ notes: inout ImportNotes) -> ConfigText? {
        guard let setting = self[name], let value = setting.values.last else { return nil }
        let scalar: ConfigText? =
            switch value {
            case .literal(let text): ConfigText(text)
            case .variable(let name): ConfigText(environment: name)
            case .mixed: nil
            }
        if scalar == nil, value != .literal("") {
            notes.warning(
                "the value of '\(name)' cannot be written to providers.yaml; write it there by hand",
                at: setting.place
            )
        }
        return scalar
    }

    /// A reference for a secret, which is never copied; notes where it was.
    func reference(_ name: String, variable: String, _ notes: inout ImportNotes) -> ConfigText? {
        guard let setting = self[name], let value = setting.values.last, value != .literal("") else { return nil }
        switch value {
        case .variable(let name): return ConfigText(environment: name)
        case .literal, .mixed:
            if let known = setting.variable { return ConfigText(environment: known) }
            notes.note(
                "the secret '\(name)' is not copied; put it into the environment variable \(variable)",
                at: setting.place
            )
            return ConfigText(environment: variable)
        }
    }

    /// Adds notes for the options that are not carried over.
    func addNotes(_ notes: inout ImportNotes) {
        for setting in self.all {
            let name = setting.option.name
            let isOff = setting.option.kind == .flag && !self.flag(name, else: true)
            let isEmpty = setting.texts.isEmpty && !setting.isUnknown
            switch setting.option.fate {
            case .carried: break
            case _ where isOff || isEmpty: break
            case .needless(let reason): notes.note("'\(name)' is not needed: \(reason)", at: setting.place)
            case .lost(let reason): notes.warning("'\(name)' is not carried over: \(reason)", at: setting.place)
            }
        }
    }
}
