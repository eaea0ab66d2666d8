# SPDX-License-Identifier: Apache-2.0
"""A program that drives the client of docs/native.md by commands on standard input, and prints a line for each."""

SOURCE = r"""
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

final class MemoryTokenStore: TokenStore {
    private let token = Mutex<String?>(nil)

    func load() -> String? { self.token.withLock { $0 } }

    func save(_ refreshToken: String?) { self.token.withLock { $0 = refreshToken } }
}

final class MovedClock: Sendable {
    let seconds = Mutex(0.0)

    var now: Date { Date() + self.seconds.withLock { $0 } }
}

func report(_ text: String) {
    print(text)
    fflush(nil)
}

let (clock, store) = (MovedClock(), MemoryTokenStore())
let gateway = GatewayClient(issuer: CommandLine.arguments[1], clientID: "notes-cli", store: store) { clock.now }

func signIn() async throws {
    let listener = try LoopbackListener()
    let signIn = try await gateway.begin(redirectURI: "http://127.0.0.1:\(listener.port)/callback")
    report(signIn.url.absoluteString)
    while true {
        do {
            return try await gateway.finish(signIn, with: try await listener.callback(to: "/callback", within: 60))
        } catch GatewayError.wrongCallback {
            report("wrong callback")
        }
    }
}

func statuses(of url: URL, count: Int) async throws -> [Int] {
    try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count { group.addTask { try await gateway.send(URLRequest(url: url)).1.statusCode } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    do {
        switch words[0] {
        case "sign-in": try await signIn()
        case "clock": clock.seconds.withLock { $0 = Double(words[1]) ?? 0 }
        case "get":
            guard let url = URL(string: words[1]), let count = Int(words[2]) else { throw POSIXError(.EINVAL) }
            report(Set(try await statuses(of: url, count: count)).sorted().map(String.init).joined(separator: " "))
        case "sign-out": try await gateway.signOut()
        case "stored": report(store.load() == nil ? "nothing" : "a token")
        default: throw POSIXError(.EINVAL)
        }
        report("done")
    } catch {
        report("\(error)")
    }
}
"""
