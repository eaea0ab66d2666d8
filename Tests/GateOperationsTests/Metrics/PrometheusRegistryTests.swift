// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GateNet
import Testing

@testable import GateOperations

private func text(
    _ registry: PrometheusRegistry,
    _ metrics: [MetricSeries] = [],
    as format: MetricsFormat = .prometheus
) -> String {
    String(decoding: MetricsText.bytes(of: registry, describedBy: metrics, as: format), as: UTF8.self)
}

@Suite struct PrometheusRegistryTests {
    @Test func `counters and gauges are printed by name and labels`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "b_total", dimensions: [("app", "wiki"), ("class", "2xx")]).increment(by: 3)
        registry.makeCounter(label: "b_total", dimensions: [("app", "shop"), ("class", "2xx")]).increment(by: 1)
        registry.makeRecorder(label: "a_gauge", dimensions: [], aggregate: false).record(Int64(7))
        #expect(
            text(registry) == """
                # TYPE a_gauge gauge
                a_gauge 7.0
                # TYPE b_total counter
                b_total{app="shop",class="2xx"} 1
                b_total{app="wiki",class="2xx"} 3

                """
        )
    }

    @Test func `the same name and labels are one series`() {
        let registry = PrometheusRegistry()
        for _ in 0..<3 {
            registry.makeCounter(label: "a_total", dimensions: [("x", "y")]).increment(by: 2)
        }
        #expect(text(registry) == "# TYPE a_total counter\na_total{x=\"y\"} 6\n")
    }

    @Test func `a label's value cannot break its line`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "a_total", dimensions: [("x", "q\"b\\n\nevil 1")]).increment(by: 1)
        #expect(text(registry) == "# TYPE a_total counter\na_total{x=\"q\\\"b\\\\n\\nevil 1\"} 1\n")
    }

    @Test func `a timer is a histogram whose buckets add up`() {
        let registry = PrometheusRegistry()
        let timer = registry.makeTimer(label: "t_seconds", dimensions: [("app", "wiki")])
        for nanoseconds in [100_000, 1_000_000, 2_000_000, 70_000_000_000] as [Int64] {
            timer.recordNanoseconds(nanoseconds)
        }
        let lines = text(registry).split(separator: "\n").map(String.init)
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
        let text = text(registry, [metric])
        #expect(text == "# HELP a_total Lines that were read\n# TYPE a_total counter\na_total 1\n")
    }

    @Test func `what event loops add is summed with what all threads add`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "a_total", dimensions: [("app", "x")]).increment(by: 5)
        for loop in 0..<3 {
            for _ in 0..<2 { registry.loopCounter("a_total", [("app", "x")], loop: loop).add() }
            registry.loopHistogram("t_seconds", [], loop: loop).record(2_000_000, at: 0) { ("r", nil) }
        }
        let lines = text(registry).split(separator: "\n")
        #expect(lines.contains("a_total{app=\"x\"} 11") && lines.contains("t_seconds_bucket{le=\"0.0025\"} 3"))
        #expect(lines.contains("t_seconds_bucket{le=\"0.001\"} 0") && lines.contains("t_seconds_count 3"))
        #expect(lines.contains("t_seconds_sum 0.006"))
    }

    @Test func `a histogram keeps an exemplar a second, which only OpenMetrics has`() {
        let registry = PrometheusRegistry()
        let histogram = registry.loopHistogram("t_seconds", [], loop: 0)
        var asked: [String] = []
        for (second, id) in [(0.0, "a"), (0.5, "b"), (0.999, "c"), (1.0, "d")] {
            histogram.record(2_000_000, at: Int64(second * 1e9)) {
                asked.append(id)
                return (id, nil)
            }
        }
        #expect(asked == ["a", "d"])
        #expect(!text(registry).contains(" # "))
        let lines = text(registry, as: .openMetrics).split(separator: "\n")
        #expect(lines.contains("t_seconds_bucket{le=\"0.0025\"} 4 # {request_id=\"d\"} 0.002"))
        #expect(lines.filter { $0.contains(" # ") }.count == 1)
    }

    @Test func `an exemplar's id cannot break its line, and is bounded`() throws {
        let registry = PrometheusRegistry()
        let long = "a\"\n\\" + String(repeating: "x", count: 500)
        registry.loopHistogram("t_seconds", [], loop: 0).record(1, at: 0) { (long, nil) }
        let line = try #require(text(registry, as: .openMetrics).split(separator: "\n").first { $0.contains(" # ") })
        #expect(line.contains("{request_id=\"a\\\"\\n\\\\xxx") && line.utf8.count < 180)
    }

    @Test func `an exemplar of an exported trace names it, within the 128 characters of OpenMetrics`() throws {
        let registry = PrometheusRegistry()
        let trace = String(repeating: "0af7", count: 8)
        registry.loopHistogram("t_seconds", [], loop: 0).record(1, at: 0) {
            (String(repeating: "x", count: 500), trace)
        }
        let line = try #require(text(registry, as: .openMetrics).split(separator: "\n").first { $0.contains(" # ") })
        let labels = line.split(separator: " # {")[1].prefix { $0 != "}" }
        #expect(labels.hasSuffix("x\",trace_id=\"\(trace)\""))
        #expect(labels.filter { !"=\",".contains($0) }.count <= 128)
    }

    @Test func `OpenMetrics names counters without their suffix and has units, creation times and an end`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "a_total", dimensions: [("app", "x")]).increment(by: 1)
        registry.makeRecorder(label: "b_seconds", dimensions: [], aggregate: false).record(Int64(7))
        let metrics = [
            MetricSeries.counter("a_total", labels: ["app"], unit: "lines", help: "Lines with \"quotes\""),
            MetricSeries.gauge("b_seconds", unit: "seconds", help: "Time"),
        ]
        let lines = text(registry, metrics, as: .openMetrics).split(separator: "\n", omittingEmptySubsequences: false)
        let created = lines.filter { $0.hasPrefix("a_created{app=\"x\"} ") }
        #expect(created.count == 1)
        #expect(
            lines.filter { !created.contains($0) } == [
                "# HELP a Lines with \\\"quotes\\\"", "# TYPE a counter", "a_total{app=\"x\"} 1",
                "# HELP b_seconds Time",
                "# TYPE b_seconds gauge", "# UNIT b_seconds seconds", "b_seconds 7.0", "# EOF", "",
            ]
        )
    }

    @Test(
        arguments: [
            (nil, .prometheus), ("*/*", .prometheus), ("text/html", .prometheus),
            ("application/openmetrics-text", .openMetrics),
            ("Application/OpenMetrics-Text; version=1.0.0", .openMetrics),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                    + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
            ),
            ("text/plain, application/openmetrics-text;q=0.5", .prometheus),
            ("application/openmetrics-text;q=0", .prometheus), ("application/openmetrics-text;q=x", .openMetrics),
        ] as [(String?, MetricsFormat)]
    )
    func `a client gets OpenMetrics only if it prefers it`(accept: String?, format: MetricsFormat) {
        #expect(MetricsFormat(accept: accept) == format)
    }

    @Test func `a name has a bounded number of series, and nothing is lost beyond`() {
        let registry = PrometheusRegistry()
        for index in 0..<(PrometheusRegistry.maxHistograms + 50) {
            registry.loopHistogram("t_seconds", [("app", "app\(index)")], loop: 0).record(1, at: 0) { ("r", nil) }
        }
        registry.makeCounter(label: "b_total", dimensions: []).increment(by: 1)
        let lines = text(registry).split(separator: "\n")
        #expect(lines.contains("t_seconds_count{app=\"_other\"} 50") && lines.contains("b_total 1"))
        #expect(lines.filter { $0.hasPrefix("t_seconds_count") }.count == PrometheusRegistry.maxHistograms + 1)
    }
}
