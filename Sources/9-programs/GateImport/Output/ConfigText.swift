// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// A scalar that `providers.yaml` reads back as exactly what is meant: a text, or a reference to one.
///
/// The configuration file has no escape for `${`, so a text that looks like a reference cannot be written at all.
struct ConfigText: Sendable, Hashable {
    /// The scalar, without the quotes of YAML.
    let scalar: String

    /// A text that means itself; nil if the file would read it as something else, or if it is not printable.
    init?(_ text: String) {
        let looksLikeVariable = text.hasPrefix("$") || (text.hasPrefix("%") && text.hasSuffix("%"))
        guard (1...4096).contains(text.utf8.count), !looksLikeVariable, !text.contains("${") else { return nil }
        guard PrintableText.isPrintable(text) else { return nil }
        self.scalar = text
    }

    /// The value of an environment variable; nil if that is not its name.
    init?(environment name: String) {
        let isName = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard isName, (1...200).contains(name.utf8.count) else { return nil }
        self.scalar = "${env:\(name)}"
    }

    /// The text of a file; nil if the path cannot be written in a reference.
    init?(file path: String) {
        guard let path = ConfigText(path), !path.scalar.contains("}") else { return nil }
        self.scalar = "${file:\(path.scalar)}"
    }

    /// The environment variable for the value of a header.
    static func variable(ofHeader name: String) -> String {
        "GATEHOUSE_HEADER_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    init(_ duration: Duration) {
        self.scalar = duration.yamlText
    }
}
