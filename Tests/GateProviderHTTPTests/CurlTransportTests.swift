// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Testing

@testable import GateProviderHTTP

/// Against a real server with real certificates; each test has a transport of its own.
@Suite struct CurlTransportTests {
    private let server: LocalProvider
    private let transport: ProviderTransports

    init() throws {
        self.server = try LocalProvider.shared.get()
        self.transport = try .trusting([
            "id": self.server.ca, "stranger": self.server.otherCA, "system": nil, "lost": self.server.ca + ".txt",
        ])
    }

    private func response(
        _ target: String,
        port: String = "tls",
        provider: String = "id",
        limit: Int = 65_536,
        timeout: Duration = .seconds(10),
        body: String? = nil,
        headers: [(name: String, value: String)] = [],
    ) async throws -> ProviderResponse {
        let request = ProviderRequest(
            method: body == nil ? "GET" : "POST",
            address: try #require(self.server.address(port, target)),
            headers: headers,
            body: body.map { Array($0.utf8) },
            limit: limit,
            timeout: timeout,
        )
        return try await self.transport.response(to: request, provider: provider)
    }

    private func failure(
        _ target: String,
        port: String = "tls",
        provider: String = "id",
        limit: Int = 65_536,
        timeout: Duration = .seconds(10),
    ) async throws -> Failure {
        let failure = await #expect(throws: Failure.self) {
            try await self.response(target, port: port, provider: provider, limit: limit, timeout: timeout)
        }
        return try #require(failure)
    }

    @Test func `a request arrives as it was described, without cookies, encodings or expectations`() async throws {
        let field = (name: "Accept", value: "application/json")
        let response = try await self.response("/echo?a=%2F", body: "code=4%2F0", headers: [field])
        let seen = try JSON(parsing: response.body)
        let names = (seen["fields"]?.array ?? []).compactMap { $0.array?.first?.string?.lowercased() }
        #expect(response.status == 200)
        #expect(response.header("content-type") == "application/json")
        #expect(seen["method"] == "POST")
        #expect(seen["target"] == "/echo?a=%2F")
        #expect(seen["body"] == "code=4%2F0")
        #expect(Set(names) == ["host", "user-agent", "accept", "content-length", "content-type"])
        #expect(seen["fields"]?.array?.contains(["User-Agent", "gatehouse"]) == true)
    }

    @Test func `plain http on this machine works`() async throws {
        #expect(try await self.response("/echo", port: "plain").status == 200)
    }

    @Test func `a redirect is a response and is not followed`() async throws {
        let response = try await self.response("/redirect")
        #expect(response.status == 302)
        #expect(response.header("location") == "/landed")
        #expect(try self.server.count("landed") == 0)
    }

    @Test func `an error status is a response`() async throws {
        let response = try await self.response("/unauthorized")
        #expect(response.status == 401)
        #expect(response.header("content-type") == "text/html")
    }

    /// A code or refresh token that was redeemed once ends all that was issued for it if it comes again.
    @Test(arguments: ["code=1", ""])
    func `G-11 a request that may have arrived is not sent again when a kept connection breaks`(
        body: String
    ) async throws {
        let place = "-post\(body.utf8.count)"
        #expect(try await self.response("/exact").status == 200)
        let failure = await #expect(throws: Failure.self) { try await self.response("/lost?\(place)", body: body) }
        #expect(failure?.code == "provider.connection_lost")
        let count = try self.server.count("lost\(place)")
        #expect(count == 1)
    }

    @Test func `a cookie is not kept`() async throws {
        _ = try await self.response("/cookie")
        let seen = try JSON(parsing: try await self.response("/echo").body)
        #expect(!seen.text.lowercased().contains("cookie"))
    }

    @Test func `a compressed body is not inflated`() async throws {
        #expect(try await self.response("/gzip").body.starts(with: [0x1F, 0x8B]))
    }

    @Test func `a body may be as long as the limit and not a byte longer`() async throws {
        #expect(try await self.response("/exact", limit: 1000).body.count == 1000)
        #expect(try await self.failure("/exact", limit: 999).code == "provider.answer_too_large")
        #expect(try await self.failure("/exact", limit: 0).code == "provider.answer_too_large")
    }

    @Test(arguments: ["/big", "/endless"])
    func `a body over the limit ends the call, announced or not`(target: String) async throws {
        #expect(try await self.failure(target).code == "provider.answer_too_large")
    }

    @Test func `more than 64 KiB of header fields end the call`() async throws {
        #expect(try await self.failure("/flood").code == "provider.answer_too_large")
    }

    @Test(arguments: ["/silent", "/drip"])
    func `the time-out bounds the whole call, whatever trickles in`(target: String) async throws {
        #expect(try await self.failure(target, timeout: .milliseconds(300)).code == "provider.timeout")
    }

    @Test func `a certificate of another authority is refused`() async throws {
        #expect(try await self.failure("/echo", provider: "stranger").code == "provider.tls")
        #expect(try await self.failure("/echo", provider: "system").code == "provider.tls")
    }

    @Test func `connections that one provider's trust opened do not serve another provider`() async throws {
        #expect(try await self.response("/echo").status == 200)
        #expect(try await self.failure("/echo", provider: "stranger").code == "provider.tls")
        #expect(try await self.response("/echo").status == 200)
    }

    @Test(arguments: ["wrong_name", "expired", "old_tls"])
    func `a certificate or version that proves nothing is refused`(port: String) async throws {
        let failure = try await self.failure("/echo?secret=1", port: port)
        #expect(failure.reason == .providerTLS)
        #expect(failure.kind == .providerFailed)
        #expect(failure.detail.hasPrefix("https://localhost:"))
        #expect(!failure.detail.contains("secret"))
    }

    @Test func `a file of authorities without a certificate trusts no server`() async throws {
        #expect(try await self.failure("/echo", provider: "lost").code == "provider.tls")
    }

    @Test func `a closed port is unreachable`() async throws {
        #expect(try await self.failure("/echo", port: "closed").code == "provider.unreachable")
    }

    @Test func `a response that breaks off is lost`() async throws {
        #expect(try await self.failure("/half").code == "provider.connection_lost")
    }

    @Test func `a response that is not HTTP is malformed`() async throws {
        #expect(try await self.failure("/", port: "raw").code == "provider.answer_malformed")
    }

    @Test func `a provider without connections of its own is refused`() async throws {
        #expect(try await self.failure("/echo", provider: "unknown").code == "provider.unknown")
    }

    @Test(.enabled(if: ProcessInfo.processInfo.environment["https_proxy"] != nil, "`make unit` sets it"))
    func `the environment's proxy is not asked`() async throws {
        #expect(try await self.response("/echo").status == 200)
        #expect(try await self.response("/echo", port: "plain").status == 200)
    }

    @Test func `a cancelled task is resumed at once`() async throws {
        let task = Task { try await self.failure("/silent", timeout: .seconds(3600)) }
        while try self.server.count("silent") == 0 { await Task.yield() }
        task.cancel()
        #expect(try await task.value.code == "provider.cancelled")
    }

    @Test func `a task that was cancelled before the call does not wait for it`() async throws {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await self.failure("/silent", timeout: .seconds(30))
        }
        task.cancel()
        #expect(try await task.value.code == "provider.cancelled")
    }

    @Test func `many calls at once all end, and those over the queue's bound are refused`() async throws {
        let codes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<400 {
                group.addTask {
                    do {
                        return "\(try await self.response("/exact").status)"
                    } catch {
                        return (error as? Failure)?.code ?? "?"
                    }
                }
            }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(codes.isSubset(of: ["200", "provider.queue_full"]))
        #expect(codes.contains("200"))
        #expect(try await self.response("/exact").status == 200)
    }

    @Test func `calls that wait in the queue of a dead provider end in time and hinder no other`() async throws {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<40 {
                group.addTask { try await self.failure("/silent", timeout: .seconds(1)).code }
            }
            let other = try await self.failure("/echo", provider: "stranger", timeout: .seconds(5))
            #expect(other.code == "provider.tls")
            // Each has its second from when it is sent, and as long to wait before: two rounds, the rest was never sent.
            var counts: [String: Int] = [:]
            for try await code in group { counts[code, default: 0] += 1 }
            #expect((16...32).contains(counts["provider.timeout"] ?? 0), "\(counts)")
            #expect(
                counts.values.reduce(0, +) == 40
                    && Set(counts.keys).isSubset(of: ["provider.timeout", "provider.queue_full"])
            )
        }
    }

    @Test func `a shutdown ends what runs and refuses what comes`() async throws {
        let task = Task { try await self.failure("/silent", timeout: .seconds(30)) }
        await Task.yield()
        self.transport.shutdown()
        self.transport.shutdown()
        #expect(try await task.value.code == "provider.shut_down")
        #expect(try await self.failure("/echo").code == "provider.shut_down")
    }
}
