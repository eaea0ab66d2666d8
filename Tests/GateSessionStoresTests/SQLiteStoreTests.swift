// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import GateCore
import GateSessionStores
import GateSessions
import Testing

@Suite struct SQLiteStoreTests {
    private let folder: TemporaryFolder
    private let secret = Secret([UInt8](repeating: 7, count: 32))
    private var path: String { "\(self.folder.path)/state/sessions.db" }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func manager(_ store: any SessionStore, secret: Secret? = nil) -> SessionManager {
        SessionManager(
            store: store,
            sealer: Sealer([secret ?? self.secret]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000)),
            feed: RevocationFeed()
        )
    }

    private func signIn(_ store: any SessionStore) async throws -> IssuedSession {
        var ada = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "104729384756102938475")
        ada.email = "ada.lovelace@example.com"
        ada.emailVerified = true
        return try await self.manager(store).issue(SignIn(profile: ada), host: "gate.example.com", now: noon)
    }

    @Test func `a session survives a restart`() async throws {
        let before = try SQLiteStore(path: self.path)
        let issued = try await self.signIn(before)
        #expect(try await before.spend([1], until: noon.plus(60)))
        await before.close()
        let after = try SQLiteStore(path: self.path)
        let found = try await self.manager(after).session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
        #expect(try await !after.spend([1], until: noon.plus(60)))
    }

    @Test func `a process that is killed loses nothing that was said to be stored`() async throws {
        let running = try SQLiteStore(path: self.path)
        let issued = try await self.signIn(running)
        let copy = try self.copiedFiles()
        let found = try await self.manager(try SQLiteStore(path: copy))
            .session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
    }

    @Test func `a copied database opens nothing without the gateway's secret or without the ticket`() async throws {
        let running = try SQLiteStore(path: self.path)
        let issued = try await self.signIn(running)
        let copy = try SQLiteStore(path: try self.copiedFiles())
        let host = "gate.example.com"
        let stranger = self.manager(copy, secret: Secret([UInt8](repeating: 8, count: 32)))
        #expect(try await stranger.session(for: issued.ticket, host: host, now: noon) == nil)
        let record = try #require(try await copy.record(for: issued.ticket.storeKey))
        let sealer = Sealer([self.secret])
        let purpose = "session/\(Base64URL.encode(record.key))"
        #expect(sealer.open(record.sealed, for: purpose) == nil)
        #expect(sealer.open(record.sealed, for: purpose, part: record.key) == nil)
        #expect(Ticket(Base64URL.encode(record.key).utf8).map(\.storeKey) != record.key)
    }

    @Test func `nothing in the files can be read`() async throws {
        let store = try SQLiteStore(path: self.path)
        let issued = try await self.signIn(store)
        _ = try await self.manager(store).spend(SingleUse("attempt", "attempt-id-in-clear", until: noon.plus(60)))
        let folder = "\(self.folder.path)/state"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.contains("sessions.db-wal"))
        let ticket = try #require(Base64URL.decode(issued.ticket.text))
        let hidden = [
            "ada.lovelace", "example.com", "google", "104729384756102938475", "attempt-id-in-clear",
            issued.ticket.text, issued.session.id, issued.session.family,
        ]
        for name in names {
            let content = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
            for text in hidden.map({ Data($0.utf8) }) + [Data(ticket)] {
                #expect(content.firstRange(of: text) == nil)
            }
        }
    }

    @Test func `folder and files are the owner's alone`() async throws {
        let store = try SQLiteStore(path: self.path)
        _ = try await self.signIn(store)
        #expect(try self.folder.mode("state") == 0o700)
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            #expect(try self.folder.mode("state/\(name)") == 0o600)
        }
    }

    @Test func `a file that is no database is named, with what to do`() throws {
        try FileManager.default.createDirectory(atPath: "\(self.folder.path)/state", withIntermediateDirectories: true)
        try Data(repeating: UInt8(ascii: "x"), count: 8192).write(to: URL(filePath: self.path))
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path) }
        #expect(failure?.code == "session.store_damaged")
        #expect(failure?.detail.contains(self.path) == true)
        #expect(failure?.detail.contains("move it away") == true)
        #expect(try Data(contentsOf: URL(filePath: self.path)).count == 8192)
    }

    @Test func `a database of a newer version is left alone`() async throws {
        let store = try SQLiteStore(path: self.path)
        _ = try await self.signIn(store)
        await store.close()
        let queue = try DatabaseQueue(path: self.path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('9-future')") }
        try queue.close()
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path) }
        #expect(failure?.code == "session.store_newer")
    }

    @Test func `a folder in the place of the file is named`() throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path) }
        #expect(failure?.detail.contains(self.path) == true)
    }

    @Test func `a full disk stops writing and not reading`() async throws {
        let store = try SQLiteStore(path: self.path)
        let issued = try await self.signIn(store)
        await store.close()
        let small = try SQLiteStore(path: self.path, pageLimit: 1)
        let failure = await #expect(throws: Failure.self) {
            var large = record(9)
            large.sealed = [UInt8](repeating: 1, count: 1_000_000)
            try await small.insert(large)
        }
        #expect(failure?.kind == .overloaded)
        #expect(failure?.code == "session.store_unavailable")
        let found = try await self.manager(small).session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
    }

    @Test func `a failure names the file but nothing that was to be written`() async throws {
        let store = try SQLiteStore(path: self.path)
        try await store.insert(record(1))
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(1)) }
        #expect(failure?.detail.contains(self.path) == true)
        #expect(failure?.detail.contains("32 bytes") == false)
        #expect(failure?.detail.contains("010101") == false)
    }

    /// Copies the files as they are now, write-ahead log included, and says where the copy is.
    private func copiedFiles() throws -> String {
        let target = "\(self.folder.path)/copy"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for suffix in ["", "-wal"] {
            let copied = "\(target)/sessions.db\(suffix)"
            try FileManager.default.copyItem(atPath: self.path + suffix, toPath: copied)
        }
        return "\(target)/sessions.db"
    }
}
