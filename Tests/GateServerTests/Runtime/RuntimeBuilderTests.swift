// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GateOperations
import GateRuntime
import GateSessions
import GateTestSupport
import Testing

@testable import GateServer

@Suite struct RuntimeBuilderTests {
    /// A folder with a configuration file, and a builder over it.
    private final class Fixture {
        let folder = NSTemporaryDirectory() + "builder-\(UInt64.random(in: 0 ... .max))"
        let builder: RuntimeBuilder

        init() throws {
            try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
            let lines = LogLines()
            self.builder = RuntimeBuilder(
                logger: lines.logger,
                feed: RevocationFeed(),
                watch: PinWatch(logger: lines.logger, clock: .system),
                signIns: SignInLimiter(),
                descriptors: 1000
            )
        }

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }

        /// The configuration of a file with two providers and an app.
        func configuration(staff: String = "", app: String = "http://127.0.0.1:9000") throws -> Configuration {
            let text = """
                gateway:
                  public_url: http://localhost:8080
                  listeners: [{address: "127.0.0.1:8080"}]
                  state: \(self.folder)/state
                sessions: {store: "memory:"}
                providers:
                  staff: {type: oidc, issuer: "http://127.0.0.1:9100", client_id: a, client_secret: b\(staff)}
                  guests: {type: oidc, issuer: "http://127.0.0.1:9101", client_id: a, client_secret: b}
                apps:
                  wiki: {path: /wiki/, upstream: "\(app)", allow: signed_in}
                """
            let path = "\(self.folder)/providers.yaml"
            try Data(text.utf8).write(to: URL(filePath: path))
            let result = Configuration.load(path: path, environment: [:])
            return try #require(result.configuration, "\(result.diagnostics.map(\.rendered))")
        }
    }

    @Test func `a runtime configuration has the routes and providers of the file`() async throws {
        let fixture = try Fixture()
        let runtime = try await fixture.builder.runtime(for: try fixture.configuration())
        #expect(runtime.routes.all.map(\.name) == ["wiki"])
        #expect(runtime.providers.all.map(\.id) == ["staff", "guests"])
        await fixture.builder.close()
    }

    @Test func `a provider whose settings stay keeps what it has learned, another begins again`() async throws {
        let fixture = try Fixture()
        let first = try await fixture.builder.runtime(for: try fixture.configuration())
        let second = try await fixture.builder.runtime(for: try fixture.configuration(staff: ", pkce: off"))
        #expect(first.providers.all[0].relyingParty !== second.providers.all[0].relyingParty)
        #expect(first.providers.all[1].relyingParty === second.providers.all[1].relyingParty)
        await fixture.builder.close()
    }

    @Test func `the session store and the limits on sign-ins outlive a reload`() async throws {
        let fixture = try Fixture()
        let first = try await fixture.builder.runtime(for: try fixture.configuration())
        let profile = Profile(provider: "staff", issuer: "http://127.0.0.1:9100", subject: "ada")
        let now = WallClock.system.now
        _ = try await first.sessions.issue(SignIn(profile: profile), host: "localhost", now: now)
        let second = try await fixture.builder.runtime(for: try fixture.configuration(app: "http://127.0.0.1:9001"))
        #expect(try await second.sessions.count(now: now) == 1)
        await fixture.builder.close()
    }

    @Test func `what fails changes nothing of the configuration in force`() async throws {
        let fixture = try Fixture()
        let first = try await fixture.builder.runtime(for: try fixture.configuration())
        let secret = URL(filePath: "\(fixture.folder)/state/secret")
        let kept = try Data(contentsOf: secret)
        try Data("short".utf8).write(to: secret)
        let changed = try fixture.configuration(staff: ", pkce: off")
        await #expect(throws: Failure.self) { _ = try await fixture.builder.runtime(for: changed) }
        try kept.write(to: secret)
        let again = try await fixture.builder.runtime(for: try fixture.configuration())
        #expect(first.providers.all[0].relyingParty === again.providers.all[0].relyingParty)
        await fixture.builder.close()
    }

    @Test func `a secret is made once and kept for its owner only`() async throws {
        let fixture = try Fixture()
        _ = try await fixture.builder.runtime(for: try fixture.configuration())
        let path = "\(fixture.folder)/state/secret"
        let made = try Data(contentsOf: URL(filePath: path))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(made.count >= 32 && mode?.intValue == 0o600)
        _ = try await fixture.builder.runtime(for: try fixture.configuration())
        #expect(try Data(contentsOf: URL(filePath: path)) == made)
        await fixture.builder.close()
    }

    @Test func `a secret that is too short is a failure that names its file`() async throws {
        let fixture = try Fixture()
        let path = "\(fixture.folder)/state/secret"
        let configuration = try fixture.configuration()
        try PrivateFile.makeFolder("\(fixture.folder)/state")
        try PrivateFile.write(Array("short".utf8), to: path)
        let failure = await #expect(throws: Failure.self) {
            _ = try await fixture.builder.runtime(for: configuration)
        }
        #expect(failure?.reason == .gatewaySecret && failure?.detail.contains(path) == true)
    }
}
