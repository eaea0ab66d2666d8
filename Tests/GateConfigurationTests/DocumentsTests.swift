// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GatePolicy
import GateProviders
import Testing

/// The committed documents are what the description of the file makes.
@Suite struct DocumentsTests {
    @Test func `docs providers schema json is the schema`() throws {
        let isCommitted = try self.committed("docs/providers.schema.json") == ConfigurationDocuments.schema
        #expect(isCommitted, "write it anew with: gatehouse schema")
    }

    @Test func `docs configuration md is the reference`() throws {
        let isCommitted = try self.committed("docs/configuration.md") == ConfigurationDocuments.reference
        #expect(isCommitted, "write it anew with: gatehouse schema --reference")
    }

    @Test func `the schema is JSON, knows the keys of the file and takes no others`() throws {
        let schema = try JSON(parsing: Array(ConfigurationDocuments.schema.utf8))
        #expect(schema["additionalProperties"] == false)
        #expect(schema["required"] == ["gateway", "providers", "apps"])
        let keys = schema["properties"]?.object?.keys.sorted()
        #expect(keys == ["apps", "assertion", "gateway", "providers", "sessions"])
        let provider = schema["properties"]?["providers"]?["patternProperties"]?.object?.values.first
        #expect(provider?["required"] == ["type", "client_id"])
        let pins = provider?["properties"]?["tls"]?["properties"]?["pins"]?["anyOf"]?.array
        #expect(pins?.count == 2)
        let names: JSON = ["google-roots", "github-roots", "microsoft-roots"]
        #expect(pins?.first?["anyOf"]?.array?.first?["enum"] == names)
        #expect(pins?.last?["properties"]?["sha256"]?["maxItems"] == 64)
        let hosts = pins?.last?["properties"]?["hosts"]
        #expect(hosts?["maxProperties"] == 32)
        let host = hosts?["patternProperties"]?.object?.values.first?["anyOf"]?.array?.last
        #expect(host?["properties"]?["sha256"] != nil)
        #expect(host?["properties"]?["hosts"] == nil)
    }

    @Test func `the example passes without a remark once its variables are set`() throws {
        let names = ["GATEHOUSE_SECRET", "GOOGLE_CLIENT_SECRET", "GITHUB_CLIENT_SECRET", "MICROSOFT_CLIENT_SECRET"]
        let variables = names + ["STAFF_CLIENT_SECRET"]
        let environment = Dictionary(uniqueKeysWithValues: variables.map { ($0, "0123456789abcdef0123456789abcdef") })
        let path = Fixture.package.appendingPathComponent("providers.yaml").path
        let result = ConfigurationFile.load(path: path, environment: environment)
        #expect(result.diagnostics.map(\.rendered) == [])
        #expect(result.configuration?.providers.map(\.id) == ["google", "github", "microsoft", "staff"])
        #expect(result.configuration?.apps.map(\.route.app) == ["wiki", "status", "board"])
        #expect(result.files == [path])
        let without = ConfigurationFile.load(path: path, environment: [:])
        #expect(without.diagnostics.map(\.message) == variables.map { "the environment variable '\($0)' is not set" })
    }

    private func committed(_ path: String) throws -> String {
        try String(contentsOf: Fixture.package.appendingPathComponent(path), encoding: .utf8)
    }
}
