// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gatehouse

/// Which configuration file a command reads.
@Suite struct ConfigurationOptionTests {
    private let installed = "/etc/gatehouse/providers.yaml"

    private func path(_ chosen: String? = nil, variable: String? = nil, existing: Set<String>) -> String {
        let environment = variable.map { ["GATEHOUSE_CONFIG": $0] } ?? [:]
        return ConfigurationOption.path(chosen: chosen, environment: environment, exists: existing.contains)
    }

    @Test func `the option comes before all files`() {
        let existing: Set = ["providers.yaml", self.installed]
        #expect(self.path("other.yaml", variable: "/srv/gate.yaml", existing: existing) == "other.yaml")
    }

    @Test func `the file of the working folder comes before the variable and the installed file`() {
        let existing: Set = ["providers.yaml", self.installed]
        #expect(self.path(variable: "/srv/gate.yaml", existing: existing) == "providers.yaml")
    }

    @Test func `the variable comes before the installed file, even if it names no file`() {
        #expect(self.path(variable: "/srv/gate.yaml", existing: [self.installed]) == "/srv/gate.yaml")
        #expect(self.path(variable: "", existing: [self.installed]) == self.installed)
    }

    @Test func `the installed file is the last, and without it the message names the first`() {
        #expect(self.path(existing: [self.installed]) == self.installed)
        #expect(self.path(existing: []) == "providers.yaml")
    }
}
