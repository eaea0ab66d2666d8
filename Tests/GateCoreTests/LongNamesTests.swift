// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

/// Names become keys of tables and are compared, which takes quadratic time for many combining marks in a row.
@Suite struct LongNamesTests {
    private static let marks = String(repeating: "\u{301}\u{316}", count: 15)

    @Test(arguments: [(64, true), (65, true), (1024, true), (1025, false)])
    func `names of ASCII may have a kilobyte`(count: Int, isAccepted: Bool) {
        let name = String(repeating: "n", count: count)
        #expect(((try? JSON(parsing: Array("{\"\(name)\":1}".utf8))) != nil) == isAccepted)
        #expect((Form(encoded: "\(name)=1") != nil) == isAccepted)
    }

    @Test(arguments: [(LongNamesTests.marks + "abcd", true), (LongNamesTests.marks + "abcde", false)])
    func `other names may have 64 bytes`(name: String, isAccepted: Bool) {
        #expect(((try? JSON(parsing: Array("{\"\(name)\":1}".utf8))) != nil) == isAccepted)
        #expect((Form(encoded: Form([Form.Field(name, "1")]).encoded) != nil) == isAccepted)
    }

    @Test func `a value may be long`() throws {
        let value = String(repeating: "\u{301}", count: 5000)
        #expect(try JSON(parsing: Array("{\"n\":\"\(value)\"}".utf8))["n"]?.string?.utf8.count == 10_000)
        #expect(Form(encoded: Form([Form.Field("n", value)]).encoded)?.fields.first?.value.utf8.count == 10_000)
    }
}
