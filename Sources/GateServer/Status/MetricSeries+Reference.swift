// SPDX-License-Identifier: Apache-2.0

package import GateOperations
internal import GateRuntime

extension MetricSeries {
    /// All metrics of the gateway, sorted by name.
    static let all = (OperationsMetrics.all + IngressMetrics.all + ServerMetrics.all).sorted {
        $0.name < $1.name
    }

    /// The reference of all metrics as Markdown, which is `docs/metrics.md`.
    package static var reference: String {
        let rows = self.all.map { metric in
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
