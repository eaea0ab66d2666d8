// SPDX-License-Identifier: Apache-2.0

package import GateOperations
internal import GateRuntime

extension MetricSeries {
    /// All metrics of the gateway, sorted by name.
    static let all = (OperationsMetrics.all + IngressMetrics.all + ServerMetrics.all + ProcessMetrics.all)
        .sorted { $0.name < $1.name }

    /// The reference of all metrics as Markdown, which is `docs/metrics.md`.
    package static var reference: String {
        let rows = self.all.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            let help = metric.condition.isEmpty ? metric.help : "\(metric.help). Only when \(metric.condition)"
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.unit) | \(help) |"
        }
        return """
            # Metrics

            `GET /metrics` of the operations listener returns these in the Prometheus text format, or as OpenMetrics if the \
            `Accept` header asks for it: then with units, creation times and, for latencies of requests, exemplars with the \
            id of a request, and of its trace if that is exported. Label values come from the configuration file or from \
            fixed lists, never from clients. A name has at most 60,000 series (a histogram 1,000); further ones are counted together with `_other` as the value of \
            each label. With "Only when" in the help text, there is a series only then; other counters and histograms \
            with labels begin with the first event. [alerts.md](alerts.md) describes the alerts in `deploy/prometheus`, and \
            `deploy/grafana` has a dashboard. This file is the output of `gatehouse schema --metrics`.

            | name | type | labels | unit | help |
            |---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            """
    }
}
