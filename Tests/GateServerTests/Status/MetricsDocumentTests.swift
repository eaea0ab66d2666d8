// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateOperations
import Testing

@testable import GateServer

@Suite struct MetricsDocumentTests {
    @Test func `the committed reference is the one that the program prints`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/metrics.md")
        #expect(try String(contentsOf: file.standardized, encoding: .utf8) == MetricSeries.reference)
    }

    @Test func `each metric has one name, and names follow the conventions of Prometheus`() {
        let metrics = MetricSeries.all
        #expect(Set(metrics.map(\.name)).count == metrics.count)
        for metric in metrics {
            #expect(metric.name.hasPrefix("gatehouse_") || metric.name.hasPrefix("process_"))
            #expect(metric.kind != .histogram || metric.name.hasSuffix("_seconds"))
            #expect((metric.kind == .counter) == metric.name.hasSuffix("_total"), "\(metric.name)")
            #expect(
                !metric.help.isEmpty && !metric.help.hasSuffix(".") && !metric.help.contains("\n")
                    && !metric.help.contains("|")
            )
        }
    }
}
