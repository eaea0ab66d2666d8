// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GatePolicy
import GateProviders
import GateProxy
import Testing

/// The committed documents are what the description of the file makes.
@Suite struct DocumentsTests {
    @Test func `docs providers schema json is the schema`() throws {
        let isCommitted = try self.committed("docs/providers.schema.json") == Configuration.jsonSchema
        #expect(isCommitted, "write it again with: gatehouse schema")
    }

    @Test func `docs configuration md is the reference`() throws {
        let isCommitted = try self.committed("docs/configuration.md") == Configuration.reference
        #expect(isCommitted, "write it again with: gatehouse schema --reference")
    }

    @Test func `the schema is JSON, knows the keys of the file and takes no others`() throws {
        let schema = try JSON(parsing: Array(Configuration.jsonSchema.utf8))
        #expect(schema["additionalProperties"] == false)
        #expect(schema["required"] == ["gateway", "providers", "apps"])
        let keys = schema["properties"]?.object?.keys.sorted()
        #expect(
            keys == [
                "apps", "assertion", "clients", "connected_accounts", "defaults", "gateway", "include", "issuers",
                "logs", "mail", "pages",
                "passkeys", "providers", "rules", "service_tokens", "sessions",
            ]
        )
        let provider = schema["properties"]?["providers"]?["patternProperties"]?.object?.values.first
        #expect(provider?["required"] == ["type"])
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

    @Test func `every default of the schema is what holds without the key`() throws {
        let schema = try JSON(parsing: Array(Configuration.jsonSchema.utf8))
        let gateway = try #require(schema["properties"]?["gateway"])
        let keys = ["limits", "timeouts", "drain"].map { name in
            "  \(name): \(self.defaults(gateway["properties"]?[name] ?? .null).text)\n"
        }
        let configuration = try Fixture.configuration(Fixture.smallest(gateway: keys.joined()))
        #expect(try configuration == Fixture.configuration(Fixture.smallest()))
        #expect(keys.first?.contains("\"header_bytes\":\"32KiB\"") == true)

        let app = try #require(schema["properties"]?["apps"]?["patternProperties"]?.object?.values.first)
        let upstream = try #require(app["properties"]?["upstream"]?["anyOf"]?.array?.last)
        var written = try #require(self.defaults(upstream).object)
        #expect(written["timeouts"]?["keep_alive"] == "4s")
        written["targets"] = "http://127.0.0.1:9000"
        // Both have an effect only with other keys.
        written["tls"] = nil
        let keysOfApp = try #require(self.defaults(app).object).filter { $0.key != "response" }
        let rest = keysOfApp.map { "    \($0.key): \($0.value.text)\n" }
        let settings = try Fixture.app(upstream: "upstream: \(JSON.object(written).text)", rest.joined())
        #expect(try settings == Fixture.app())
        #expect(rest.contains("    max_body: \"0\"\n"))

        let health = try #require(upstream["properties"]?["health"])
        var checks = try #require(self.defaults(health).object)
        checks["path"] = "/"
        let value = JSON.object(["targets": "http://a", "health": .object(checks)]).text
        #expect(try Fixture.app(upstream: "upstream: \(value)").upstream?.health == HealthCheckSettings(path: "/"))
        #expect(checks.count == 5)
    }

    /// The defaults of a mapping, and of those in it that can do without any key.
    private func defaults(_ schema: JSON) -> JSON {
        let pairs = (schema["properties"]?.object ?? [:]).compactMap { name, property -> (String, JSON)? in
            if let value = property["default"] { return (name, value) }
            guard property["properties"] != nil, property["required"] == nil else { return nil }
            return (name, self.defaults(property))
        }
        return .object(Dictionary(uniqueKeysWithValues: pairs.filter { $0.1 != .object([:]) }))
    }

    @Test func `the example passes without a remark once its variables are set`() throws {
        let names = ["GATEHOUSE_SECRET", "GOOGLE_CLIENT_SECRET", "GITHUB_CLIENT_SECRET", "MICROSOFT_CLIENT_SECRET"]
        let variables = names + ["STAFF_CLIENT_SECRET"]
        let environment = Dictionary(uniqueKeysWithValues: variables.map { ($0, "0123456789abcdef0123456789abcdef") })
        let path = Fixture.package.appendingPathComponent("providers.yaml").path
        let result = Configuration.load(path: path, environment: environment)
        #expect(result.diagnostics.map(\.rendered) == [])
        #expect(result.configuration?.providers.map(\.id) == ["google", "github", "microsoft", "staff"])
        #expect(result.configuration?.apps.map(\.route.app) == ["wiki", "status", "board"])
        #expect(result.files == [path])
        let without = Configuration.load(path: path, environment: [:])
        #expect(without.diagnostics.map(\.message) == variables.map { "the environment variable '\($0)' is not set" })
    }

    private func committed(_ path: String) throws -> String {
        try String(contentsOf: Fixture.package.appendingPathComponent(path), encoding: .utf8)
    }
}
