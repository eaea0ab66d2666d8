// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What became of a configuration file: its values, or why there are none.
package struct ConfigurationResult: Sendable {
    /// The values; nil when there is any error.
    package let configuration: Configuration?
    /// Everything to say about the file, by place; at most 100 and a closing line that counts the rest.
    package let diagnostics: [Diagnostic]
    /// The file itself and each file it names that decides what the values are, to be watched for changes.
    package let files: [String]

    /// Puts the parts together.
    package init(configuration: Configuration?, diagnostics: [Diagnostic], files: [String]) {
        self.configuration = configuration
        self.diagnostics = diagnostics
        self.files = files
    }

    /// Whether the file cannot be used.
    package var hasErrors: Bool { self.diagnostics.contains { $0.severity == .error } }
}
