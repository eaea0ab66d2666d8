// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let demo = FailureTable(
        .demo,
        rows: [
            Row(.demoProvider, "demo.provider", .malformedRequest, shown: "command"),
            Row(.demoQuirk, "demo.quirk", .malformedRequest, shown: "command"),
            Row(.demoPort, "demo.port", .internalError, shown: "start"),
            Row(.demoFetch, "demo.fetch", .upstreamFailed, shown: "log only"),
            Row(.demoFetchTimedOut, "demo.fetch", .upstreamTimedOut, shown: "log only"),
        ],
        documentation: [
            .demoProvider: "`gatehouse demo` has no such provider or quirk.",
            .demoPort: "`gatehouse demo` cannot use a port.",
            .demoFetch: "The sample app of `gatehouse demo` cannot reach the gateway.",
        ]
    )
}
