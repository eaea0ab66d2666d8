// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

@testable import GateOperations

@Suite struct RunBookTests {
    @Test(arguments: RunBook.allCases)
    func `each section is in docs alerts md`(entry: RunBook) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let text = try String(contentsOf: folder.appending(path: "../../docs/alerts.md"), encoding: .utf8)
        #expect(text.contains("\n## \(entry.rawValue)\n"))
    }

    @Test(
        arguments: [
            (.providerPinMismatch, .pinMismatch), (.providerTimeout, .providerDown), (.idTokenNonce, .signInFailures),
            (.upstreamTimedOut, .upstreamFailing), (.sessionStoreUnavailable, .storeUnavailable),
            (.gatewayOverloaded, .overloaded), (.routeNone, nil), (.policyRefused, nil),
        ] as [(Failure.Reason, RunBook?)]
    )
    func `a failure has the section that is about it`(reason: Failure.Reason, entry: RunBook?) {
        #expect(RunBook(about: reason) == entry)
    }
}
