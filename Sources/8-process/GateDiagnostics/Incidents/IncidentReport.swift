// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore

/// What the running gateway and the log know of an incident or a request, put together.
package struct IncidentReport: Sendable {
    private let id: String
    private let configuration: Configuration?
    private let file: String?
    private var evidence: [IncidentCase.Evidence] = []
    /// Where it was looked for, and with what result.
    private var searched: [(source: String, result: String)] = []
    /// When the configuration in force was loaded; nil if the gateway was not asked.
    private var loadedAt: Int64?
    private var hasMore = false

    /// A report without findings.
    ///
    /// - Parameters:
    ///   - id: The incident, or the id of a request.
    ///   - configuration: The configuration, to show rules and advice; nil without one.
    ///   - file: The configuration file.
    package init(about id: String, configuration: Configuration? = nil, file: String? = nil) {
        self.id = id
        self.configuration = configuration
        self.file = file
    }

    /// Whether anything was found.
    package var isFound: Bool { !self.evidence.isEmpty }

    /// Adds what the running gateway returned for `GET /v1/incidents`.
    package mutating func add(gateway json: JSON, at socket: String) {
        let source = "the running gateway at \(PrintableText.escaped(socket))"
        let found = json["incidents"]?.array ?? []
        for incident in found {
            var values: [String: String] = [:]
            for case (let name, .string(let text)) in incident.object ?? [:] {
                values[name] = PrintableText.escaped(text)
            }
            for case (let name, .number(let text)) in incident.object ?? [:] where name != "time" {
                values[name] = text
            }
            let time = incident["time"]?.integer.map { Instant(seconds: $0).timestamp } ?? ""
            let entry = LogEntry(time: time, message: IncidentCase.ofGateway, stream: nil, values: values)
            self.evidence.append(IncidentCase.Evidence(source: source, entry: entry))
        }
        self.loadedAt = json["loaded_at"]?.integer
        let since = json["complete_since"]?.integer.map { Instant(seconds: $0).timestamp } ?? "its start"
        let extent = "it has all failures since \(since), \(json["kept"]?.integer ?? 0) in all"
        self.searched.append((source, found.isEmpty ? "nothing; \(extent)" : "found"))
    }

    /// Adds that a source could not be searched, and why.
    package mutating func add(failure: String, of source: String) {
        self.searched.append((PrintableText.escaped(source), PrintableText.escaped(failure)))
    }

    /// Adds what was found in log files.
    package mutating func add(_ search: LogFileSearch) {
        self.hasMore = self.hasMore || search.hasMore
        self.evidence += search.found.map { IncidentCase.Evidence(source: $0.source.name, entry: $0.entry) }
        for outcome in search.outcomes {
            let lines = "\(outcome.found) line\(outcome.found == 1 ? "" : "s")"
            let time = outcome.first.map { " from \($0) to \(outcome.last ?? "an unknown time")" } ?? ""
            let result = outcome.failure ?? "\(outcome.found == 0 ? "nothing" : lines) in \(outcome.size) bytes\(time)"
            self.searched.append((outcome.source.name, result))
        }
    }
}

// MARK: Text

extension IncidentReport {
    /// The report for a terminal.
    package var text: String {
        let found = IncidentCase.cases(of: self.evidence).map { self.text(of: $0) }
        let more = self.hasMore ? ["There are more lines than are shown."] : []
        let shownID = PrintableText.escaped(self.id)
        let head = found.isEmpty ? ["Nothing is known of \(shownID)."] : found
        let next = found.isEmpty ? ["What to do next", self.next.map { "  - \($0)" }.joined(separator: "\n")] : []
        let places = self.searched.map { "  \($0.source): \($0.result)" }.joined(separator: "\n")
        return (head + more + ["Searched\n\(places)"] + (next.isEmpty ? [] : [next.joined(separator: "\n")]))
            .joined(separator: "\n\n")
    }

    private func text(of found: IncidentCase) -> String {
        let title = found["incident"].map { "Incident \($0)" } ?? "Request \(found["request"] ?? self.id)"
        var lines = ["\(title), \(found.time)"]
        func add(_ name: String, _ value: String?) {
            guard let value, !value.isEmpty else { return }
            lines.append("  \(name)\(String(repeating: " ", count: max(1, 10 - name.count)))\(value)")
        }
        let status = found["status"].map { ", status \($0)" } ?? ""
        add("failure", found["code"].map { "\($0)\(status)" })
        add("detail", found["detail"])
        add("request", found["request"])
        add("", self.requestLine(of: found))
        add("user", found["user"])
        add("provider", found["provider"])
        add("app", found["app"].map { "\($0)\(found["route"].map { ", path prefix \($0)" } ?? "")" })
        add("decision", found["decision"])
        add("rule", self.rule(of: found))
        for other in found.evidence where other.entry.message == "upstream failed" {
            guard let detail = other.entry.values["detail"], detail != found["detail"] else { continue }
            add("upstream", detail)
        }
        if let reason = found.reason {
            let advice = self.advice(on: reason, in: found)
            add("page", advice.page)
            add("means", advice.meaning)
            add("do", advice.steps)
            add("see", advice.documents.joined(separator: "; "))
        } else if found["code"] != nil {
            add("do", "this version has no failure of that code; run the command of the version that wrote it")
        }
        var known: Set<String> = []
        for one in found.evidence {
            let what = one.entry.message == IncidentCase.ofGateway ? "" : ": \(one.entry.message), \(one.entry.time)"
            let text = "\(one.source)\(what)"
            if known.insert(text).inserted { add("found in", text) }
        }
        return lines.joined(separator: "\n")
    }

    private func requestLine(of found: IncidentCase) -> String? {
        guard let method = found["method"] else { return found["client"].map { "from \($0)" } }
        let version = found["protocol"].map { ", \($0)" } ?? ""
        let client = found["client"].map { ", from \($0)" } ?? ""
        return "\(method) \(found["host"] ?? "")\(found["path"] ?? "")\(version)\(client)"
    }

    private func advice(on reason: Failure.Reason, in found: IncidentCase) -> IncidentAdvice {
        IncidentAdvice(
            on: reason,
            app: found["app"],
            provider: found["provider"],
            configuration: self.configuration
        )
    }

    /// The rule that decided, with its line as the file has it now if that is still a rule of the app.
    private func rule(of found: IncidentCase) -> String? {
        guard let app = found["app"] else { return nil }
        guard let line = found["rule"].flatMap({ Int($0) }) else {
            guard found.reason == .policyRefused else { return nil }
            return "no entry of 'allow' of \(app) matches the user"
        }
        let included = found["rule_file"]
        let file = (included ?? self.file).map { PrintableText.escaped($0) } ?? "the configuration file"
        let place = "line \(line) of \(file)"
        let text = self.source(ofLine: line, ofIncluded: included, app: app).map { ": \($0)" } ?? ""
        return "\(place)\(text)\(self.isOlderThanFile(found) ? " (the file was loaded again since then)" : "")"
    }

    private func isOlderThanFile(_ found: IncidentCase) -> Bool {
        guard let loadedAt else { return false }
        return found.time < Instant(seconds: loadedAt).timestamp
    }

    private func source(ofLine line: Int, ofIncluded included: String?, app: String) -> String? {
        guard let file = included ?? self.file,
            self.configuration?.hasRule(onLine: line, ofIncluded: included, of: app) ?? false,
            case .bytes(let bytes) = FileAccess.system.read(file, limit: 16 << 20)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return nil }
        return PrintableText.escaped(lines[line - 1].drop { $0 == " " }, limit: 200)
    }

    /// What to do when nothing was found.
    private var next: [String] {
        let shared = "an incident is known to the gateway that showed it only: with several, run the command on each"
        let id = PrintableText.escaped(self.id)
        return [
            "check the spelling: an incident has 12 characters, and upper and lower case differ",
            shared,
            "name older log files: gatehouse explain \(id) --log FILE FILE.1; for compressed ones and for the journal "
                + "'zcat FILE.2.gz | gatehouse explain \(id) --log -', 'journalctl -t gatehouse -o cat | ...'",
            "lines may be missing: a flood is cut short (gatehouse_log_lines_suppressed_total), lines were dropped "
                + "(gatehouse_log_lines_dropped_total), 'logs.sample' leaves out requests that succeeded, or rotation has "
                + "removed the file",
        ]
    }
}

// MARK: JSON

extension IncidentReport {
    /// The report for programs.
    package var json: JSON {
        let cases = IncidentCase.cases(of: self.evidence).map { found -> JSON in
            var members = found.json.object ?? [:]
            members["rule_text"] = self.rule(of: found).map(JSON.string)
            if let reason = found.reason {
                let advice = self.advice(on: reason, in: found)
                members["page"] = .string(advice.page)
                members["meaning"] = .string(advice.meaning)
                members["advice"] = .string(advice.steps)
                members["documents"] = .array(advice.documents.map(JSON.string))
            }
            return .object(members)
        }
        return [
            "id": .string(self.id), "found": .bool(self.isFound), "incidents": .array(cases),
            "more": .bool(self.hasMore),
            "searched": .array(self.searched.map { ["source": .string($0.source), "result": .string($0.result)] }),
            "next": .array(self.isFound ? [] : self.next.map(JSON.string)),
        ]
    }
}
