// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviderHTTP
internal import GateProviders

/// All that was learned about one provider; its extensions judge it, a line for each topic.
struct ProviderChecks: Sendable {
    /// A host, and what it shows.
    typealias Host = (origin: Origin, probe: Result<HostProbe, Failure>)

    let settings: ProviderSettings
    let definition: ProviderDefinition
    let redirectURI: String
    let findings: ProviderFindings
    /// How far its clock is ahead of ours, once for each response with a date.
    let clockDifferences: [Duration]
    /// What the hosts that the gateway calls show, in the order in which they were met.
    let hosts: [Host]
    let now: Instant

    /// What was found, in the order of the topics.
    var lines: [ProviderFinding] {
        [
            self.discovery, self.keys, self.clock, self.line(.redirect, .good, "register \(self.redirectURI)"),
            self.scopes, self.pkce, self.iss, self.clientAuthentication,
        ] + self.hosts.map { self.chain(of: $0.origin, $0.probe) }
    }

    func line(_ topic: ProviderFinding.Topic, _ verdict: ProviderFinding.Verdict, _ text: String) -> ProviderFinding {
        ProviderFinding(self.settings.id, topic, verdict, text)
    }

    /// The place of a key in the file.
    func key(_ name: String) -> String { "providers.\(self.settings.id).\(name)" }

    /// The texts of a list in the discovery document; nil if the document has no such list.
    func list(_ name: String) -> [String]? {
        self.findings.document?[name]?.array?.compactMap(\.string)
    }

    /// The finding on a topic when there is no document.
    func unknown(_ topic: ProviderFinding.Topic, _ text: String) -> ProviderFinding {
        self.line(
            topic,
            .unasked,
            self.findings.discovery == nil ? text : "not known without a good discovery document"
        )
    }
}
