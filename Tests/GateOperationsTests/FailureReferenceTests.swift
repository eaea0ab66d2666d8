// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOperations
import Testing

@Suite struct FailureReferenceTests {
    private static let reference = Failure.reference

    @Test(arguments: Failure.Reason.allCases)
    func `each failure has a row of the reference`(reason: Failure.Reason) {
        #expect(Self.reference.contains("`\(reason.entry.code)`"))
    }

    @Test func `docs errors md is the reference`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let committed = try String(contentsOf: folder.appending(path: "../../docs/errors.md"), encoding: .utf8)
        let isCommitted = committed == Self.reference
        #expect(isCommitted, "write it again with: gatehouse schema --errors > docs/errors.md")
    }
}
