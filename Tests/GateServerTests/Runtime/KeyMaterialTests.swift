// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateAssertion
import GateConfiguration
import GateCore
import GateTestSupport
import Testing

@testable import GateServer

/// For how long keys and secrets are kept after a rotation, by the times of their files.
@Suite struct KeyMaterialTests {
    private let folder: TemporaryFolder
    /// Later than any file that a test writes.
    private let start: Int64 = 4_000_000_000
    // In seconds: what the file has, and how much clocks may differ.
    private let ahead: Int64 = 600
    private let assertions: Int64 = 30
    private let tokens: Int64 = 3600
    private let idle: Int64 = 1800
    private let sessions: Int64 = 28_800
    private let leeway: Int64 = 300

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func configuration(rotate: String = "", hasClients: Bool = true) throws -> Configuration {
        let clients = """

            clients:
              notes: {type: native, redirect_uris: ["com.example.notes:/callback"], allow: signed_in}
            """
        let text = """
            gateway:
              public_url: http://localhost:8080
              listeners: [{address: "127.0.0.1:8080"}]
              state: \(self.folder.path)/state
            sessions: {store: "memory:", idle_timeout: \(self.idle)s, lifetime: \(self.sessions)s}
            assertion: {lifetime: \(self.assertions)s, publish_ahead: \(self.ahead)s\(rotate)}
            providers:
              staff: {type: oidc, issuer: "http://127.0.0.1:9100", client_id: a, client_secret: b}
            apps:
              wiki: {path: /wiki/, upstream: "http://127.0.0.1:9000", allow: signed_in}\(hasClients ? clients : "")
            """
        let result = Configuration.parse(
            bytes: Array(text.utf8),
            name: "providers.yaml",
            folder: self.folder.path,
            environment: [:]
        )
        return try #require(result.configuration, "\(result.diagnostics.map(\.rendered))")
    }

    private func instant(_ seconds: Int64) -> Instant { Instant(seconds: self.start + seconds) }

    private func load(_ configuration: Configuration, at seconds: Int64) throws -> KeyMaterial {
        try KeyMaterial.load(for: configuration, now: self.instant(seconds), random: .system)
    }

    /// Gives each file that has no time of this test yet a time.
    private func date(_ seconds: Int64) throws {
        let files = FileManager.default.enumerator(atPath: self.folder.path)
        for case let name as String in try #require(files) {
            let path = "\(self.folder.path)/\(name)"
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let date = attributes[.modificationDate] as? Date,
                date < Date(timeIntervalSince1970: TimeInterval(self.start))
            else { continue }
            let set = Date(timeIntervalSince1970: TimeInterval(self.start + seconds))
            try FileManager.default.setAttributes([.modificationDate: set], ofItemAtPath: path)
        }
    }

    /// Whether a set of keys has one.
    private func has(_ keys: AssertionKeys?, _ key: AssertionKey?) throws -> Bool {
        let (keys, key) = (try #require(keys), try #require(key))
        return try JSON(parsing: keys.jwks)["keys"]?.array?.contains { $0["kid"]?.string == key.id } == true
    }

    @Test func `Q-17: a key is published until the last token or assertion that it has signed has expired`() throws {
        let configuration = try self.configuration()
        let first = try self.load(configuration, at: 0)
        try self.date(0)
        let activation = try KeyMaterial.rotate(configuration, now: self.instant(1000))
        #expect(activation == self.instant(1000 + self.ahead))
        try self.date(1000)
        let before = try self.load(configuration, at: 1000 + self.ahead - 1)
        #expect(before.assertion.signing.id == first.assertion.signing.id)
        #expect(before.tokens?.signing.id == first.tokens?.signing.id)
        let after = 1000 + self.ahead
        let second = try self.load(configuration, at: after)
        #expect(second.assertion.signing.id != first.assertion.signing.id)
        #expect(second.tokens?.signing.id != first.tokens?.signing.id)
        let parts: [(keys: (KeyMaterial) -> AssertionKeys?, life: Int64)] = [
            ({ $0.tokens }, self.tokens), ({ $0.assertion }, self.assertions),
        ]
        for (keys, life) in parts {
            let end = after + life + self.leeway
            let (last, over) = (try self.load(configuration, at: end - 1), try self.load(configuration, at: end))
            #expect(try self.has(keys(last), keys(first)?.signing))
            #expect(try !self.has(keys(over), keys(first)?.signing))
            #expect(try self.has(keys(over), keys(second)?.signing))
        }
    }

    @Test func `Q-17: a secret opens until the last session that it has sealed is over, however long that was idle`()
        throws
    {
        let configuration = try self.configuration()
        let first = try #require(try self.load(configuration, at: 0).secrets.first)
        try self.date(0)
        let schedule = KeyMaterial.secretSchedule(for: configuration)
        _ = try GatewaySecrets.rotate(
            folder: configuration.gateway.stateFolder,
            schedule: schedule,
            now: self.instant(1000),
            random: .system
        )
        try self.date(1000)
        let after = 1000 + self.ahead
        #expect(try self.load(configuration, at: after - 1).secrets.first == first)
        #expect(try self.load(configuration, at: after).secrets.first != first)
        let end = after + self.sessions + self.leeway
        #expect(try self.load(configuration, at: end - 1).secrets.contains(first))
        #expect(try !self.load(configuration, at: end).secrets.contains(first))
    }

    /// A part of the material of which there are new keys or secrets.
    enum Part: CaseIterable {
        case assertions
        case tokens
        case secrets
    }

    @Test(arguments: Part.allCases)
    func `Q-17: other keys of one part alone are adopted, when they are published and when they sign`(part: Part) throws
    {
        let configuration = try self.configuration()
        let first = try self.load(configuration, at: 0)
        try self.date(0)
        #expect(first.isEquivalent(to: try self.load(configuration, at: 900)))
        let keys = configuration.assertion.keysFolder
        switch part {
        case .assertions: try AssertionKeys.add(to: keys)
        case .tokens: try AssertionKeys.add(to: "\(keys)/tokens")
        case .secrets:
            let folder = configuration.gateway.stateFolder
            let schedule = KeyMaterial.secretSchedule(for: configuration)
            _ = try GatewaySecrets.rotate(folder: folder, schedule: schedule, now: self.instant(1000), random: .system)
        }
        try self.date(1000)
        let published = try self.load(configuration, at: 1000)
        #expect(!first.isEquivalent(to: published) && !published.isEquivalent(to: first))
        let used = try self.load(configuration, at: 1000 + self.ahead)
        #expect(!published.isEquivalent(to: used) && !used.isEquivalent(to: published))
        #expect(used.isEquivalent(to: try self.load(configuration, at: 1001 + self.ahead)))
    }

    @Test func `Q-17: clients that are added or removed change the keys of tokens alone`() throws {
        let (without, with) = (try self.configuration(hasClients: false), try self.configuration())
        let first = try self.load(without, at: 0)
        #expect(first.tokens == nil)
        let second = try self.load(with, at: 0)
        #expect(second.tokens != nil && !first.isEquivalent(to: second) && !second.isEquivalent(to: first))
        #expect(first.assertion.entityTag == second.assertion.entityTag && first.secrets == second.secrets)
    }

    @Test func `Q-17: all keys are rotated when they are as old as the configuration allows, and not before`() throws {
        let configuration = try self.configuration(rotate: ", rotate: 7200s")
        let first = try self.load(configuration, at: 0)
        try self.date(0)
        #expect(try KeyMaterial.rotateIfDue(configuration, now: self.instant(7199), random: .system) == nil)
        #expect(first.isEquivalent(to: try self.load(configuration, at: 7199)))
        let activation = try KeyMaterial.rotateIfDue(configuration, now: self.instant(7200), random: .system)
        #expect(activation == self.instant(7200 + self.ahead))
        try self.date(7200)
        let second = try self.load(configuration, at: 7200 + self.ahead)
        #expect(second.assertion.signing.id != first.assertion.signing.id)
        #expect(second.tokens?.signing.id != first.tokens?.signing.id)
        let never = try self.configuration()
        #expect(try KeyMaterial.rotateIfDue(never, now: self.instant(1_000_000), random: .system) == nil)
    }
}
