// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct FailureCatalogTests {
    private static let shared = ["openid.issuer_mismatch": 2, "openid.metadata": 2, "demo.fetch": 2]

    @Test func `each failure has a code of its own, except where one code is used for a failure of either side`() {
        let counts = Dictionary(grouping: Failure.Reason.allCases, by: \.code).mapValues(\.count)
        #expect(counts.filter { $0.value > 1 } == Self.shared)
    }

    @Test(arguments: Failure.Reason.allCases)
    func `each failure has a code and a page`(reason: Failure.Reason) {
        let entry = reason.entry
        #expect(entry.code.wholeMatch(of: /[a-z_]+(\.[a-z][a-z0-9_]*)?/) != nil)
        #expect(!entry.page.name.isEmpty)
        #expect((400...599).contains(entry.status))
        #expect(Failure(reason, "why").description == "\(entry.kind.rawValue) \(entry.code): why")
    }

    @Test func `advice names the section of the configuration`() {
        let entry = Failure.Reason.idTokenAlgorithm.entry
        #expect(entry.advice(["section": "providers.staff"])?.contains("providers.staff.id_token_algorithms") == true)
        #expect(Failure.Reason.idTokenSignature.entry.advice([:])?.hasSuffix("explains id_token.signature") == true)
        #expect(Failure.Reason.routeNone.entry.advice([:]) == nil)
    }
}
