// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A provider of the catalogue: its name, its traits and its section of the gateway's file.
struct SimulatedProvider: Sendable {
    /// The name on the command line, in the file and in the callback's path; also its `type`.
    let name: String
    /// The client id, in the provider's form.
    let clientID: String
    let quirks: [DemoQuirk]
    /// The lines of the file below `type`, without indentation, `client_id`, credentials and `tls`.
    private let lines: @Sendable (SimulatorContext) -> [String]
    /// The lines with the gateway's credentials.
    private let credentials: @Sendable (SimulatorContext) -> [String]
    /// What is registered of the certificate for which it asks the gateway, under these quirks; nil if it does not ask.
    let certificate: @Sendable (DemoQuirks) -> DemoClientCertificate.Registration?
    /// The traits, one for each tenant; the first is the one in the gateway's file.
    let traits: @Sendable (SimulatorContext) -> [CodeFlowTraits]

    /// A provider without tenants.
    init(
        _ name: String,
        clientID: String,
        quirks: [DemoQuirk],
        lines: @escaping @Sendable (SimulatorContext) -> [String],
        credentials: @escaping @Sendable (SimulatorContext) -> [String] = { $0.client.secretLines },
        certificate: @escaping @Sendable (DemoQuirks) -> DemoClientCertificate.Registration? = { _ in nil },
        traits: @escaping @Sendable (SimulatorContext) -> CodeFlowTraits,
    ) {
        self.name = name
        self.clientID = clientID
        self.quirks = quirks
        self.lines = lines
        self.credentials = credentials
        self.certificate = certificate
        self.traits = { [traits($0)] }
    }

    init(
        _ name: String,
        clientID: String,
        quirks: [DemoQuirk],
        lines: @escaping @Sendable (SimulatorContext) -> [String],
        tenants: @escaping @Sendable (SimulatorContext) -> [CodeFlowTraits],
    ) {
        self.name = name
        self.clientID = clientID
        self.quirks = quirks
        self.lines = lines
        self.credentials = { $0.client.secretLines }
        self.certificate = { _ in nil }
        self.traits = tenants
    }

    /// The provider's section of the gateway's file, indented by two.
    func section(_ context: SimulatorContext, caFile: String, pins: [String]) -> String {
        let identity = ["client_id: \(quoted(context.client.id))"] + self.credentials(context)
        let trust =
            ["ca_file: \(quoted(caFile))", "pins:", "  match: public_key", "  sha256:"]
            + pins.map { "    - \(quoted($0))" } + (context.client.certificate?.lines ?? [])
        let lines = ["type: \(self.name)"] + self.lines(context) + identity + ["tls:"] + trust.map { "  \($0)" }
        return (["  \(self.name):"] + lines.map { "    \($0)" }).joined(separator: "\n")
    }
}

/// A double-quoted YAML scalar, which has the same escapes as JSON.
func quoted(_ text: String) -> String { JSON.string(text).text }
