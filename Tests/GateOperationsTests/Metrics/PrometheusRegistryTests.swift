// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Testing

@testable import GateOperations

@Suite struct PrometheusRegistryTests {
    @Test func `counters and gauges are printed by name and labels`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "b_total", dimensions: [("app", "wiki"), ("class", "2xx")]).increment(by: 3)
        registry.makeCounter(label: "b_total", dimensions: [("app", "shop"), ("class", "2xx")]).increment(by: 1)
        registry.makeRecorder(label: "a_gauge", dimensions: [], aggregate: false).record(Int64(7))
        #expect(
            registry.text() == """
                # TYPE a_gauge gauge
                a_gauge 7.0
                # TYPE b_total counter
                b_total{app="shop",class="2xx"} 1
                b_total{app="wiki",class="2xx"} 3

                """
        )
    }

    @Test func `the same name and labels are one series, whoever asks`() {
        let registry = PrometheusRegistry()
        for _ in 0..<3 {
            registry.makeCounter(label: "a_total", dimensions: [("x", "y")]).increment(by: 2)
        }
        #expect(registry.text() == "# TYPE a_total counter\na_total{x=\"y\"} 6\n")
    }

    @Test func `a label's value cannot break its line`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "a_total", dimensions: [("x", "q\"b\\n\nevil 1")]).increment(by: 1)
        #expect(registry.text() == "# TYPE a_total counter\na_total{x=\"q\\\"b\\\\n\\nevil 1\"} 1\n")
    }

    @Test func `a timer is a histogram whose buckets add up`() {
        let registry = PrometheusRegistry()
        let timer = registry.makeTimer(label: "t_seconds", dimensions: [("app", "wiki")])
        for nanoseconds in [100_000, 1_000_000, 2_000_000, 70_000_000_000] as [Int64] {
            timer.recordNanoseconds(nanoseconds)
        }
        let lines = registry.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "# TYPE t_seconds histogram" && lines.count == 19)
        #expect(lines.contains("t_seconds_bucket{app=\"wiki\",le=\"0.0005\"} 1"))
        #expect(lines.contains("t_seconds_bucket{app=\"wiki\",le=\"0.001\"} 2"))
        #expect(lines.contains("t_seconds_bucket{app=\"wiki\",le=\"0.0025\"} 3"))
        #expect(lines.contains("t_seconds_bucket{app=\"wiki\",le=\"60.0\"} 3"))
        #expect(lines.contains("t_seconds_bucket{app=\"wiki\",le=\"+Inf\"} 4"))
        #expect(lines.contains("t_seconds_sum{app=\"wiki\"} 70.0031"))
        #expect(lines.last == "t_seconds_count{app=\"wiki\"} 4")
    }

    @Test func `the help text of a metric is printed before its type`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "a_total", dimensions: []).increment(by: 1)
        let metric = MetricSeries.counter("a_total", unit: "lines", help: "Lines that were read")
        let text = registry.text(describedBy: [metric])
        #expect(text == "# HELP a_total Lines that were read\n# TYPE a_total counter\na_total 1\n")
    }
}
