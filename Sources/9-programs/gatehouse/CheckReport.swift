// SPDX-License-Identifier: Apache-2.0

internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations
internal import GatePolicy

/// What `gatehouse check` finds: printed as text when it is found, or as one JSON object at the end.
struct CheckReport {
    private let file: String
    private let isJSON: Bool
    private var diagnostics: [Diagnostic] = []
    private var findings: [ProviderFinding]?
    private var counts: (providers: Int, apps: Int)?
    /// Whether the file can be used, and no provider fails.
    private(set) var isUsable = true

    init(of file: String, isJSON: Bool) {
        self.file = file
        self.isJSON = isJSON
    }

    /// Adds what was found in the file.
    mutating func add(_ diagnostics: [Diagnostic]) {
        if !self.isJSON { show(diagnostics) }
        self.diagnostics += diagnostics
        if diagnostics.contains(where: { $0.severity == .error }) { self.isUsable = false }
    }

    /// Adds what a configuration refers to: keys, certificates and pins.
    mutating func add(_ configuration: Configuration) {
        self.counts = (configuration.providers.count, configuration.apps.count)
        let now = WallClock.system.now
        for (provider, failure) in configuration.providerFailures {
            self.add(.error, "provider '\(provider)': \(failure.detail)")
        }
        for (keyFile, failure) in configuration.certificateFailures {
            self.add([Diagnostic(.error, failure.detail, at: self.location(ofPath: keyFile))])
        }
        for remark in configuration.certificateRemarks(at: now) + configuration.shownCertificateRemarks(at: now) {
            self.add(remark.isFatal ? .error : .warning, remark.text)
        }
        for remark in configuration.clientCertificateRemarks(at: now) {
            self.add(remark.isFatal ? .error : .warning, remark.text)
        }
        guard self.isUsable else { return }
        for remark in configuration.ownPathRemarks { self.add(.warning, remark) }
        if let remark = configuration.gateway.missingProxies { self.add(.warning, remark) }
        if let remark = CheckReport.placeholders(in: configuration) { self.add(.warning, remark) }
        for remark in configuration.expiredPins(at: now) { self.add(.warning, remark) }
        guard !self.isJSON else { return }
        let counted = CheckReport.count(configuration.providers.count, "provider")
        printLine("\(self.file) is usable: \(counted), \(CheckReport.count(configuration.apps.count, "app"))")
    }

    /// Adds what the providers returned.
    mutating func add(_ findings: [ProviderFinding]) {
        self.findings = findings
        if findings.contains(where: { $0.verdict == .failure }) { self.isUsable = false }
        guard !self.isJSON else { return }
        for row in ProviderFinding.rows(of: findings) { printLine(row) }
        printLine("online: \(ProviderFinding.summary(of: findings))")
    }

    /// The providers could not be asked.
    mutating func fail(_ failure: Failure) {
        self.isUsable = false
        printError("gatehouse: error: \(failure.code): \(failure.detail)")
    }

    /// Prints the JSON.
    func end() {
        guard self.isJSON else { return }
        let report: JSON = [
            "version": .int(1), "file": .string(self.file), "usable": .bool(self.isUsable),
            "providers": self.counts.map { .int(Int64($0.providers)) } ?? .null,
            "apps": self.counts.map { .int(Int64($0.apps)) } ?? .null,
            "diagnostics": .array(self.diagnostics.map(self.json)),
            "online": self.findings.map { .array($0.map(CheckReport.json)) } ?? .null,
        ]
        printLine(report.pretty())
    }

    /// The hosts whose names are reserved for examples, which browsers cannot open; nil without any.
    ///
    /// RFC 2606 §2, §3.
    private static func placeholders(in configuration: Configuration) -> String? {
        let apps = configuration.apps.flatMap { $0.route.origins.hosts.map { "\($0)" } }
        let reserved = ["example.com", "example.net", "example.org", "example"]
        let found = ([configuration.gateway.publicURL.host] + apps).filter { host in
            reserved.contains { host == $0 || host.hasSuffix(".\($0)") }
        }
        guard let first = found.first else { return nil }
        let others = Set(found).count - 1
        let more = others == 0 ? "is a name" : "and \(CheckReport.count(others, "other host")) are names"
        return "'\(first)' \(more) for examples, which browsers cannot open; write your own"
    }

    /// Where the file has a path, which may be relative there; nil if another file has it.
    private func location(ofPath path: String) -> Diagnostic.Location? {
        guard case .bytes(let bytes) = FileAccess.system.read(self.file, limit: 1 << 20) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(omittingEmptySubsequences: false) { $0.isNewline }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let found =
            lines.firstIndex { $0.contains("private_key") && $0.contains(name) }
            ?? lines.firstIndex { $0.contains(name) }
        guard let found, let range = lines[found].firstRange(of: name) else { return nil }
        let column = lines[found].distance(from: lines[found].startIndex, to: range.lowerBound) + 1
        return Diagnostic.Location(file: self.file, line: found + 1, column: column)
    }

    private mutating func add(_ severity: Diagnostic.Severity, _ message: String) {
        if severity == .error { self.isUsable = false }
        self.diagnostics.append(Diagnostic(severity, message, at: nil))
        if !self.isJSON { printError("\(self.file): \(severity.rawValue): \(message)") }
    }

    private func json(_ diagnostic: Diagnostic) -> JSON {
        [
            "severity": .string(diagnostic.severity.rawValue),
            "file": .string(diagnostic.location?.file ?? self.file),
            "line": diagnostic.location.map { .int(Int64($0.line)) } ?? .null,
            "column": diagnostic.location.map { .int(Int64($0.column)) } ?? .null,
            "message": .string(diagnostic.message),
            "suggestion": diagnostic.suggestion.map { .string($0) } ?? .null,
        ]
    }

    private static func json(_ finding: ProviderFinding) -> JSON {
        let verdict =
            switch finding.verdict {
            case .good: "ok"
            case .warning: "warning"
            case .failure: "failure"
            case .unasked: "not_asked"
            }
        return [
            "provider": .string(finding.provider), "topic": .string(finding.topic.rawValue),
            "verdict": .string(verdict), "detail": .string(PrintableText.escaped(finding.text, limit: 600)),
        ]
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}

extension Diagnostic {
    /// The part of the message about what to do: after its first semicolon that is not within quotes.
    fileprivate var suggestion: String? {
        var isQuoted = false
        var previous: Character = " "
        for index in self.message.indices {
            let character = self.message[index]
            let rest = self.message[index...].dropFirst()
            if character == "'" {
                // An apostrophe is between letters.
                let isEnd = rest.first.map { !$0.isLetter } ?? true
                if isQuoted ? isEnd : !previous.isLetter { isQuoted.toggle() }
            } else if character == ";", !isQuoted, rest.first == " " {
                return String(rest.dropFirst())
            }
            previous = character
        }
        return nil
    }
}
