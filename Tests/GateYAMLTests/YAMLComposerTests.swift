// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateYAML

@Suite struct YAMLComposerTests {
    private func document(_ text: String, bounds: YAMLComposer.Bounds = .init()) throws(YAMLFailure) -> YAMLNode {
        try YAMLComposer.document(of: Array(text.utf8), bounds: bounds)
    }

    private func entries(_ node: YAMLNode) throws -> [YAMLEntry] {
        guard case .mapping(let entries) = node.content else {
            throw YAMLFailure(message: "no mapping", mark: node.mark)
        }
        return entries
    }

    @Test func `a node knows line and column in characters, both from 1`() throws {
        let root = try self.entries(try self.document("a: 1\n\"é✓😀\": { b: c }\n"))
        #expect(root.map(\.key.mark) == [YAMLMark(line: 1, column: 1), YAMLMark(line: 2, column: 1)])
        #expect(root[1].value.mark == YAMLMark(line: 2, column: 8))
        #expect(root[1].value.owner == YAMLMark(line: 2, column: 1))
        #expect(try self.entries(root[1].value)[0].value.mark == YAMLMark(line: 2, column: 13))
    }

    @Test(arguments: ["a:", "a: ~", "a: null"])
    func `nothing, a tilde and null are nothing`(text: String) throws {
        #expect(try self.entries(try self.document(text))[0].value.isNull)
    }

    @Test func `a quoted null is a text`() throws {
        #expect(try !self.entries(try self.document("a: \"null\""))[0].value.isNull)
    }

    @Test func `an alias is expanded and counts as much as its anchor`() throws {
        let root = try self.document("a: &x [1, 2]\nb: *x\n")
        #expect(root.count == 1 + 2 + 3 + 3)
        #expect(root.depth == 3)
    }

    @Test func `an alias bomb stops at the bound of nodes`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...12 {
            let aliases = (0..<10).map { _ in "*a\(level - 1)" }.joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(throws: YAMLFailure.self) { try self.document(text) }
        do throws(YAMLFailure) {
            _ = try self.document(text)
        } catch {
            #expect(error.message == "more than 1000000 values, aliases expanded")
            #expect(error.mark.line == 6)
        }
    }

    @Test(
        arguments: [
            ("a: &x [*x]", "'*x' is inside of its own anchor", YAMLMark(line: 1, column: 8)),
            ("a: *x", "'*x' has no '&x' above it", YAMLMark(line: 1, column: 4)),
            (
                "a: 1\n---\nb: 2\n", "a second document starts here; the file may hold one only",
                YAMLMark(line: 2, column: 1)
            ),
            ("a: !!str 1", "tags such as !!str have no meaning here; remove the tag", YAMLMark(line: 1, column: 4)),
            ("[a]: 1", "a key must be a single text", YAMLMark(line: 1, column: 1)),
            ("a: \u{7}", "control characters are not allowed", YAMLMark(line: 1, column: 4)),
            ("é: \u{0}", "control characters are not allowed", YAMLMark(line: 1, column: 4)),
            ("a: @b", "a value cannot start with this character; put it in quotes", YAMLMark(line: 1, column: 4)),
            (
                "a: [1, 2", "the '[' that opens here is not closed; put ',' between its elements and ']' after them",
                YAMLMark(line: 1, column: 4)
            ),
            ("", "the file is empty; it needs 'gateway', 'providers' and 'apps'", YAMLMark.start),
        ])
    func `what cannot be read is named with its place`(text: String, message: String, mark: YAMLMark) {
        do throws(YAMLFailure) {
            _ = try self.document(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error == YAMLFailure(message: message, mark: mark))
        }
    }

    @Test func `bytes that are not UTF-8 are reported with their location`() {
        let failure = YAMLFailure(
            message: "the file is not UTF-8; save it as UTF-8",
            mark: YAMLMark(line: 2, column: 3)
        )
        #expect(throws: failure) { try YAMLComposer.document(of: Array("é: 1\nb:".utf8) + [0xFF, 0x0A]) }
        #expect(throws: YAMLFailure.self) { try YAMLComposer.document(of: [0xFF, 0xFE, 0x61, 0x00]) }
    }

    @Test func `thirty-two levels are read and thirty-three are not`() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels - 1) + "x" + String(repeating: "]", count: levels - 1)
        }
        #expect(try self.document(nested(32)).depth == 32)
        #expect(throws: YAMLFailure.self) { try self.document(nested(33)) }
        #expect(throws: YAMLFailure.self) { try self.document(String(repeating: "[", count: 100_000)) }
    }

    @Test func `depth counts what an alias brings`() throws {
        let bounds = YAMLComposer.Bounds(depth: 4)
        #expect(try self.document("a: &x [[1]]\n", bounds: bounds).depth == 4)
        #expect(throws: YAMLFailure.self) { try self.document("a: &x [[1]]\nb: [*x]\n", bounds: bounds) }
    }

    @Test func `more bytes than the bound are not looked at`() {
        let failure = YAMLFailure(message: "the file is larger than 16 MiB", mark: .start)
        #expect(throws: failure) { try YAMLComposer.document(of: [UInt8](repeating: 0x23, count: 16 << 20 | 1)) }
    }
}
