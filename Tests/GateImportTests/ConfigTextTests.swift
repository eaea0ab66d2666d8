// SPDX-License-Identifier: Apache-2.0

import GateYAML
import Testing

@testable import GateImport

/// What is written to YAML is read back as the same text, and never as a reference that was not meant.
@Suite struct ConfigTextTests {
    @Test(arguments: [
        "plain", "true", "No", "null", "~", "12", "1e3", "0x1F", "- a", "a: b", "a #b", "# a", "'a'", "\"a\"", "a\\nb",
        "{a}", "[a]", "*a",
        "&a", "!a", "|", ">", "@a", "`a", "a,b", "Zoë", " a ", "a:", "?", "2027-01-01", "=", "<<",
    ])
    func `every text is read back unchanged`(text: String) throws {
        var mapping = YAMLMapping()
        let scalar: ConfigText = try #require(ConfigText(text))
        mapping.add("key", scalar)
        mapping.add("list", .list([.text(scalar)]))
        let file = ImportFile(name: "out", bytes: Array(mapping.written().utf8))
        let node = try SourceNode(file: file)
        #expect(node["key"]?.text == text)
        #expect(node["list"]?.elements?.first?.text == text)
    }

    @Test(arguments: [
        "${env:HOME}", "a${file:/etc/passwd}", "${", "$HOME", "%HOME%", "", "a\nb", "a\u{1B}[0m", "a\u{202E}b",
    ])
    func `a text that the file would read as something else, or that is not printable, cannot be written`(text: String)
    {
        #expect(ConfigText(text) == nil)
    }

    @Test func `references are of variables and files with a plain name`() {
        #expect(ConfigText(environment: "A_1")?.scalar == "${env:A_1}")
        #expect(ConfigText(file: "/run/secrets/x")?.scalar == "${file:/run/secrets/x}")
        for name in ["", "A}", "A B", "A-B"] { #expect(ConfigText(environment: name) == nil, "\(name)") }
        for path in ["", "/a}b", "/${env:X}", "/a\nb"] { #expect(ConfigText(file: path) == nil, "\(path)") }
    }
}
