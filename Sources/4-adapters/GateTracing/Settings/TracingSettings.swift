// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How spans are sampled, queued and exported, as the environment sets it.
package struct TracingSettings: Sendable {
    /// Where batches are sent to.
    package var endpoint: WebURL
    /// Further fields of the requests to the collector, such as a key; the values are secrets.
    package var headers: [(name: String, value: Secret)] = []
    /// The PEM file with the certificates that are trusted; nil for those of the system.
    package var certificateFile: String?
    /// How long one request to the collector may take.
    package var timeout = Duration.seconds(10)
    /// Which traces are exported.
    package var sampler = Sampler(.all, followsParent: true)
    /// What names the process: `service.name` and others.
    package var resource: [(key: String, value: String)] = []
    /// The version of the gateway.
    package var version = "unknown"
    /// How many spans may wait.
    package var queueSize = 2048
    /// How many spans one request has at most.
    package var batchSize = 512
    /// How long a span waits at most before its batch is exported.
    package var delay = Duration.seconds(5)
    /// How long a batch may take, with the times between its tries.
    package var exportTimeout = Duration.seconds(30)
    /// What of the environment has no effect, for the log.
    package var warnings: [String] = []

    /// The defaults of OpenTelemetry, for a collector.
    package init(endpoint: WebURL) {
        self.endpoint = endpoint
    }
}
