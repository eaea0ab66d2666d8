// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import Testing

/// What the tests of this target read files with.
enum Fixture {
    /// The folder of the package.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let brokenFiles = package.appendingPathComponent("Tests/Fixtures/configuration")

    static let environment = [
        "CLIENT_SECRET": "sample-secret",
        "GATE_SECRET": "0123456789abcdef0123456789abcdef",
        "EMPTY": "",
    ]

    static let files = FileAccess { path, limit in
        let content: [UInt8]
        switch path {
        case "/etc/gatehouse/tls/good.pem", "/etc/gatehouse/tls/good.key":
            content = Array("-----BEGIN CERTIFICATE-----".utf8)
        case "/etc/gatehouse/tls/text.pem": content = Array("no certificate".utf8)
        case "/run/secrets/good": content = Array("0123456789abcdef0123456789abcdef\n".utf8)
        case "/run/secrets/huge": content = [UInt8](repeating: 0x61, count: 65_537)
        case "/run/secrets/full": content = [UInt8](repeating: 0x61, count: 65_536)
        case "/run/secrets/binary": content = [0xFF, 0xFE]
        case "/run/secrets/locked": return .unreadable
        default: return .missing
        }
        return content.count > limit ? .tooLarge : .bytes(content)
    }

    /// The smallest useful file, with more text inside of its parts.
    static func smallest(
        gateway: String = "",
        provider: String = "",
        upstream: String = "upstream: http://127.0.0.1:9000",
        app: String = "",
        rest: String = ""
    ) -> String {
        """
        gateway:
          public_url: https://gate.example.com
        \(gateway)
        providers:
          staff:
            type: oidc
            issuer: https://id.example.com
            client_id: gatehouse
            client_secret: ${env:CLIENT_SECRET}
        \(provider)
        apps:
          wiki:
            \(upstream)
            allow: signed_in
        \(app)
        \(rest)
        """
    }

    static func parse(
        _ text: String,
        name: String = "providers.yaml",
        environment: [String: String] = Fixture.environment
    ) -> ConfigurationResult {
        Configuration.parse(
            bytes: Array(text.utf8),
            name: name,
            folder: "/etc/gatehouse",
            environment: environment,
            files: self.files
        )
    }

    /// The values of a file that has nothing wrong with it.
    static func configuration(
        _ text: String,
        environment: [String: String] = Fixture.environment
    ) throws -> Configuration {
        let result = self.parse(text, environment: environment)
        #expect(result.diagnostics.map(\.rendered) == [])
        return try #require(result.configuration)
    }

    /// The settings of the only app of a file that has nothing wrong with it.
    static func app(upstream: String = "upstream: http://127.0.0.1:9000", _ lines: String = "") throws -> AppSettings {
        try #require(try self.configuration(self.smallest(upstream: upstream, app: lines)).apps.first)
    }

    /// The messages of a file, with their severities.
    static func remarks(_ text: String) -> [String] {
        self.parse(text).diagnostics.map { "\($0.severity): \($0.message)" }
    }

    /// The messages of a file, without their places.
    static func messages(_ text: String) -> [String] {
        self.parse(text).diagnostics.map(\.message)
    }
}
