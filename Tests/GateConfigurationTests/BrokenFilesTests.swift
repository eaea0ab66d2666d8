// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import Testing

/// Each broken file beside the words that an operator reads about it.
@Suite struct BrokenFilesTests {
    static let names: [String] = {
        let found = try? FileManager.default.contentsOfDirectory(atPath: Fixture.brokenFiles.path)
        return (found ?? []).filter { $0.hasSuffix(".yaml") }.sorted()
    }()

    @Test func `there are at least twenty broken files`() {
        #expect(Self.names.count >= 20)
    }

    @Test(arguments: names)
    func `a broken file is rejected with the error, its location and what to do`(name: String) throws {
        let file = Fixture.brokenFiles.appendingPathComponent(name)
        let text = try String(contentsOf: file, encoding: .utf8)
        let wanted = try String(contentsOf: file.deletingPathExtension().appendingPathExtension("txt"), encoding: .utf8)
        let result = Fixture.parse(text, name: name)
        #expect(result.diagnostics.map { $0.rendered + "\n" }.joined() == wanted)
        #expect(result.configuration == nil)
        #expect(result.diagnostics.contains { $0.severity == .error })
    }
}
