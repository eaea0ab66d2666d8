// SPDX-License-Identifier: Apache-2.0

internal import GateIngress
package import GateOperations

/// The reference of all metrics, from which `docs/metrics.md` is generated.
package enum MetricsDocument {
    /// All metrics of the gateway, sorted by name.
    package static let metrics = (OperationsMetrics.all + IngressMetrics.all + ServerMetrics.all).sorted {
        $0.name < $1.name
    }

    /// The reference as Markdown.
    package static var markdown: String {
        let rows = self.metrics.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.unit) | \(metric.help) |"
        }
        return """
            # Metrics

            `GET /metrics` of the operations listener returns these in the Prometheus text format. Label values come from \
            the configuration file or from fixed lists, never from clients. This file is the output of \
            `gatehouse schema --metrics`.

            | name | type | labels | unit | help |
            |---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            """
    }
}
