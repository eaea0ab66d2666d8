// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateCore
import Testing

@testable import GateAccounts

@Suite struct PasswordTests {
    private func account() -> Account {
        var account = Account(id: "1", created: noon)
        (account.email, account.username, account.name) = (
            "ada.lovelace@example.com", "countess", "Ada Augusta Lovelace"
        )
        return account
    }

    private func finding(_ typed: String, _ breached: BreachedPasswords? = nil) throws -> PasswordRules.Finding? {
        let password = try #require(Password(typed))
        return try PasswordRules(host: "gate.example.com", breached: breached).finding(
            about: password,
            of: self.account()
        )
    }

    @Test(arguments: [
        "correct horse battery staple", "alllowercase", "            x1y2z3", "пароль из слов", "密码密码甲乙丙丁戊己庚辛",
        "ALLUPPERCASE",
        "\u{1F600}\u{1F601}\u{1F602}\u{1F603}\u{1F604} some words", String(repeating: "abcde", count: 200),
    ])
    func `any text of twelve characters is accepted, without rules of composition`(typed: String) throws {
        #expect(try self.finding(typed) == nil)
    }

    @Test(arguments: ["", "short", "elevenchars", "пароль"])
    func `fewer than twelve characters are too short`(typed: String) throws {
        #expect(try self.finding(typed) == .short)
    }

    @Test func `more than 1024 bytes are rejected, not truncated`() {
        #expect(Password(String(repeating: "x", count: 1024)) != nil)
        #expect(Password(String(repeating: "x", count: 1025)) == nil)
        #expect(Password(String(repeating: "\u{FDFA}", count: 341)) == nil, "eighteen characters in normal form each")
    }

    @Test(arguments: ["aaaaaaaaaaaa", "121212121212", "abcdabcdabcd"])
    func `a text of fewer than five different characters is rejected`(typed: String) throws {
        #expect(try self.finding(typed) == .repetitive)
    }

    @Test(arguments: [
        "my ADA.lovelace@example.com", "xx ada.lovelace 12345", "the countess of x", "augusta 1815 1852",
        "gate.example.com!", "Ada Lovelace 1815",
    ])
    func `a password that contains the name of the user or of the gateway is rejected`(typed: String) throws {
        #expect(try self.finding(typed) == .personal)
    }

    @Test func `names of three letters occur in other words`() throws {
        #expect(try self.finding("canada is a country") == nil)
    }

    // F-09: without a file of known passwords.
    @Test(arguments: [
        "password1234", "Password1234", "PASSWORD!!!!!!", "p4$$w0rd2024!", "P@ssw0rd1234", "1234password",
        "pass-word-1234",
        "passwordpassword", "Password1Password2", "welcome12345", "Welcome2024!!", "W3lc0me!2024", "we1come-12345",
        "Summer2025!!!",
        "Winter2023/24", "sommer-2024-!", "Septembre2024", "qwertyuiop12", "qwerty123456", "Qwertz12345!",
        "azerty123456",
        "1q2w3e4r5t6y", "zaq12wsxcde3", "1qaz2wsx3edc", "abcdefghijkl", "abcd1234efgh", "lkjhgfdsapoi", "123456789012",
        "098765432109",
        "iloveyou1234", "iloveyouiloveyou", "letmein123456", "LetMeInNow!!!", "administrator", "Adm1n1strator",
        "4dm1n1strator",
        "adminpassword", "Liverpool1892", "manchester1!!", "Chocolate123", "sunshine12345", "dragon1234567",
        "trustno12345",
        "qwertyasdfgh", "1234qwerasdf", "motdepasse123", "Willkommen123", "contraseña1234", "changeme12345",
    ])
    func `a password that is guessed first is rejected, in its usual variations`(typed: String) throws {
        #expect(try self.finding(typed) == .common)
    }

    @Test(arguments: [
        "correct horse battery staple", "password of words 7", "canada is a country", "my dragon eats pancakes",
        "tr0ub4dor&3xyz", "kU8#vq2!LmZ0", "der Himmel ist grün", "vier kleine Enten", "passwordless rocks",
        "summer in Lisbon 1987",
        "f47ac10b-58cc-4372", "xkq-password-9-mwt",
    ])
    func `a password of several words, or of chance, is accepted`(typed: String) throws {
        #expect(try self.finding(typed) == nil)
    }

    @Test func `a look for common passwords takes no longer for a long one`() throws {
        #expect(try self.finding(String(repeating: "1a!", count: 300) + "xyzq") == nil)
        #expect(try self.finding(String(repeating: "7", count: 500) + "password" + "83921" + "!") != .personal)
    }

    @Test func `the same text in another Unicode form is the same password`() async throws {
        let workers = PasswordWorkers(cost: Fixture.cost)
        let composed = try #require(Password("caf\u{E9} \u{FB01}nal words"))
        let decomposed = try #require(Password("cafe\u{301} final words"))
        let hash = try await workers.hash(composed.secret, from: nil)
        #expect(try await workers.verify(decomposed.secret, hash, from: nil))
    }

    @Test func `all bytes of a long password count`() async throws {
        let workers = PasswordWorkers(cost: Fixture.cost)
        let text = String(repeating: "x", count: 1023)
        let hash = try await workers.hash(try #require(Password(text + "y")).secret, from: nil)
        #expect(try await workers.verify(try #require(Password(text + "y")).secret, hash, from: nil))
        #expect(try await !workers.verify(try #require(Password(text + "z")).secret, hash, from: nil))
        #expect(try await !workers.verify(try #require(Password(text)).secret, hash, from: nil))
    }

    @Test func `a NUL does not end a password`() async throws {
        let workers = PasswordWorkers(cost: Fixture.cost)
        let hash = try await workers.hash(try #require(Password("twelve chars\u{0}first")).secret, from: nil)
        #expect(try await !workers.verify(try #require(Password("twelve chars\u{0}second")).secret, hash, from: nil))
    }

    @Test func `a secret shows in no description`() throws {
        let password = try #require(Password("correct horse battery"))
        #expect(!"\(password) \(String(reflecting: password))".contains("horse"))
    }
}

@Suite struct PasswordHashTests {
    private static let good =
        "$argon2id$v=19$m=19456,t=2,p=1$Z2F0ZWhvdXNlZ2F0ZWhvdQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

    @Test func `new hashes have at least the cost that OWASP advises`() async throws {
        let hash = try await PasswordWorkers().hash(Secret(text: "x"), from: nil)
        #expect(hash.cost == .standard && hash.cost.memory >= 19 * 1024 && hash.cost.passes >= 2)
        #expect(hash.text.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
    }

    @Test func `two hashes of one password differ`() async throws {
        let workers = PasswordWorkers(cost: Fixture.cost)
        let (first, second) = (
            try await workers.hash(Secret(text: "x"), from: nil), try await workers.hash(Secret(text: "x"), from: nil)
        )
        #expect(first != second)
    }

    @Test func `a hash of another library is verified`() async throws {
        // From the test vectors of libargon2: argon2id, version 19.
        let text = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        let hash = try #require(PasswordHash(phc: text))
        #expect(try await PasswordWorkers().verify(Secret(text: "password"), hash, from: nil))
        #expect(try await !PasswordWorkers().verify(Secret(text: "Password"), hash, from: nil))
    }

    @Test func `without a hash no password is right`() async throws {
        let workers = PasswordWorkers(cost: Fixture.cost)
        #expect(try await !workers.verify(Secret(text: "gatehouse"), nil, from: nil))
    }

    @Test(arguments: [
        "", "x", "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234", good + "$",
        good.replacing("argon2id", with: "argon2i"),
        good.replacing("argon2id", with: "argon2d"), good.replacing("v=19", with: "v=16"),
        good.replacing("m=19456", with: "m=4194304"), good.replacing("m=19456", with: "m=8"),
        good.replacing("m=19456", with: "m=019456"), good.replacing("t=2", with: "t=0"),
        good.replacing("t=2", with: "t=11"),
        good.replacing("p=1", with: "p=255"), good.replacing("m=19456,t=2,p=1", with: "t=2,m=19456,p=1"),
        good.replacing("AAAA", with: "AA A"), good + String(repeating: "A", count: 200),
        good.replacing("m=19456", with: "m=+19456"),
    ])
    func `what is not an Argon2id hash of bounded cost is rejected`(text: String) {
        #expect(PasswordHash(phc: Self.good) != nil)
        #expect(PasswordHash(phc: text) == nil)
    }

    @Test func `a hash shows in no description`() throws {
        let hash = try #require(PasswordHash(phc: Self.good))
        #expect(!"\(hash) \(String(reflecting: hash))".contains("AAAA"))
    }

    @Test func `more hashes than may wait are refused as overload`() async throws {
        let workers = PasswordWorkers(threads: 1, maxWaiting: 1, cost: Fixture.cost)
        let results = await withTaskGroup(of: Failure.Reason?.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    do throws(Failure) {
                        _ = try await workers.hash(Secret(text: "x"), from: nil)
                        return nil
                    } catch {
                        return error.reason
                    }
                }
            }
            return await group.reduce(into: [Failure.Reason?]()) { $0.append($1) }
        }
        #expect(results.contains(nil))
        #expect(results.compactMap(\.self).allSatisfy { $0 == .accountBusy })
        #expect(workers.count == 0)
        #expect(Failure.Reason.accountBusy.entry.status == 503)
    }
}

/// F-03: no client network fills the queue.
@Suite struct PasswordWorkersTests {
    /// Occupies the only thread until the test ends.
    private struct Blocked {
        let workers = PasswordWorkers(threads: 1, cost: Fixture.cost)
        private let end = DispatchSemaphore(value: 0)

        func whileBlocked(_ body: () async throws -> Void) async throws {
            let began = AsyncStream<Void>.makeStream()
            let (workers, end) = (self.workers, self.end)
            async let blocked: Void = workers.run(for: nil) {
                began.continuation.finish()
                end.wait()
            }
            for await _ in began.stream {}
            try await body()
            end.signal()
            try await blocked
        }
    }

    enum Work: CaseIterable, Sendable {
        case hash
        case verify
        case look
    }

    @Test(arguments: Work.allCases)
    func `of all that one client network asks for at once, whatever it is, 16 at most wait`(work: Work) async throws {
        let blocked = Blocked()
        let (eve, ada) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
        @Sendable func ask(_ client: IPAddress?) async throws(Failure) {
            switch work {
            case .hash: _ = try await blocked.workers.hash(Secret(text: "x"), from: client)
            case .verify: _ = try await blocked.workers.verify(Secret(text: "x"), nil, from: client)
            case .look: _ = try await blocked.workers.run(for: client) { true }
            }
        }
        @Sendable func isRejected(_ client: IPAddress?) async -> Bool {
            do throws(Failure) {
                try await ask(client)
                return false
            } catch {
                return error.reason == .accountBusy
            }
        }
        let (rejected, done) = (AsyncStream<Bool>.makeStream(), AsyncStream<Bool>.makeStream())
        try await blocked.whileBlocked {
            for _ in 0..<90 {
                Task {
                    let isRejected = await isRejected(eve)
                    (isRejected ? rejected : done).continuation.yield(isRejected)
                }
            }
            var count = 0
            for await _ in rejected.stream {
                count += 1
                if count == 90 - PasswordWorkers.maxOfNetwork { break }
            }
            #expect(await isRejected(eve))
            #expect(blocked.workers.count == 1 + PasswordWorkers.maxOfNetwork)
            Task { done.continuation.yield(await isRejected(ada)) }
        }
        var results: [Bool] = []
        for await result in done.stream {
            results.append(result)
            if results.count == PasswordWorkers.maxOfNetwork + 1 { break }
        }
        #expect(results.allSatisfy { !$0 })
    }
}

@Suite struct BreachedPasswordsTests {
    /// A list of the hashes of some texts, with counts of very different lengths.
    private func list(_ texts: [String], lineEnd: String = "\n", isLower: Bool = false) throws -> BreachedPasswords {
        let lines = texts.map { text in
            let hash = Insecure.SHA1.hash(data: Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                .joined()
            return (isLower ? hash : hash.uppercased()) + ":\(text.utf8.count % 7 == 0 ? 37_615_252 : 1)"
        }
        let path = FileManager.default.temporaryDirectory.appending(path: "breached-\(UUID().uuidString).txt").path
        let text = lines.sorted().map { $0 + lineEnd }.joined()
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return BreachedPasswords(path: path)
    }

    @Test(arguments: [("\n", false), ("\r\n", false), ("\n", true)])
    func `every password of the list is found, and no other one`(lineEnd: String, isLower: Bool) throws {
        let texts = (0..<500).map { "known password \($0)" }
        let list = try self.list(texts, lineEnd: lineEnd, isLower: isLower)
        defer { try? FileManager.default.removeItem(atPath: list.path) }
        #expect(list.failure == nil)
        for text in texts { #expect(try list.contain(Secret(text: text))) }
        for text in texts { #expect(try !list.contain(Secret(text: text + "!"))) }
    }

    @Test(arguments: 1...3)
    func `short lists work as well`(count: Int) throws {
        let texts = (0..<count).map { "known password \($0)" }
        let list = try self.list(texts)
        defer { try? FileManager.default.removeItem(atPath: list.path) }
        for text in texts { #expect(try list.contain(Secret(text: text))) }
        #expect(try !list.contain(Secret(text: "another one")))
    }

    @Test func `a list with a line without a hash accepts no password`() throws {
        let texts = (0..<500).map { "known password \($0)" }
        let list = try self.list(texts)
        defer { try? FileManager.default.removeItem(atPath: list.path) }
        var lines = try String(contentsOfFile: list.path, encoding: .utf8).split(separator: "\n").map(String.init)
        lines.insert("", at: 250)
        try lines.joined(separator: "\n").write(toFile: list.path, atomically: true, encoding: .utf8)
        let results = texts.map { text in (try? list.contain(Secret(text: text))) ?? true }
        #expect(results.allSatisfy { $0 }, "found, or not checked, but never missed")
    }

    @Test func `empty lines at the end do no harm`() throws {
        let list = try self.list(["known password"])
        defer { try? FileManager.default.removeItem(atPath: list.path) }
        let text = try String(contentsOfFile: list.path, encoding: .utf8)
        try (text + "\n").write(toFile: list.path, atomically: true, encoding: .utf8)
        #expect(try list.contain(Secret(text: "known password")) && !list.contain(Secret(text: "another one")))
    }

    @Test func `a file that cannot be read accepts no password`() {
        let list = BreachedPasswords(path: "/nonexistent/list")
        #expect(list.failure == "cannot be read")
        #expect(throws: Failure.self) { try list.contain(Secret(text: "x")) }
    }

    @Test(arguments: ["", "password1\npassword2\n", "ABC:1\n", String(repeating: "0", count: 64) + ":1\n"])
    func `a file of something else is reported`(text: String) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "other-\(UUID().uuidString).txt").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(BreachedPasswords(path: path).failure != nil)
    }
}
