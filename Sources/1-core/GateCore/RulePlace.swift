// SPDX-License-Identifier: Apache-2.0

/// Where a rule is written: a configuration file and a line in it.
package struct RulePlace: Sendable, Hashable, CustomStringConvertible {
    /// The file as messages name it.
    package let file: String
    /// The line, from 1.
    package let line: Int
    /// Whether the file is one that the configuration file includes.
    package let isIncluded: Bool

    /// A line of a file, by default of the configuration file itself.
    package init(file: String = "providers.yaml", line: Int, isIncluded: Bool = false) {
        self.file = file
        self.line = line
        self.isIncluded = isIncluded
    }

    /// `providers.yaml:14`.
    package var description: String { "\(self.file):\(self.line)" }

    /// The file for logs and reports, whose `rule` is the line; nil for the configuration file itself.
    package var includedFile: String? { self.isIncluded ? self.file : nil }
}
