// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateOperations
import Testing

@Suite struct StatusSchemaTests {
    @Test func `docs status schema json is the schema`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let file = folder.appending(path: "../../../docs/status.schema.json")
        let isCommitted = try String(contentsOf: file, encoding: .utf8) == GatewayStatus.schemaText
        #expect(isCommitted, "write it again with: gatehouse schema --status > docs/status.schema.json")
    }
}
