// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateRuntime
import Synchronization
import Testing

@Suite struct ClientDocumentsTests {
    private let transport = HeldTransport()
    private let documents: ClientDocuments
    private let now = Instant(seconds: 1_800_000_000)

    init() {
        self.documents = ClientDocuments(over: self.transport)
    }

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private func document(_ text: String, at now: Instant? = nil) async throws -> JSON {
        try await self.documents.document(at: try self.url(text), now: now ?? self.now) { () throws(Failure) in }
    }

    @Test func `a host that is slow leaves fetches for others`() async throws {
        var arrivals = self.transport.arrivals.makeAsyncIterator()
        let slow = (1...2).map { number in Task { try await self.document("https://slow.example/\(number)") } }
        for _ in slow { _ = await arrivals.next() }
        let failure = await #expect(throws: Failure.self) { try await self.document("https://slow.example/3") }
        #expect(failure?.reason == .gatewayTooManyWaiting)
        let other = Task { try await self.document("https://quick.example/1") }
        #expect(await arrivals.next() == "https://quick.example/1")
        self.transport.release()
        #expect(try await other.value == ["a": 1])
        for task in slow { #expect(try await task.value == ["a": 1]) }
        #expect(try await self.document("https://slow.example/3") == ["a": 1])
    }

    @Test func `a document is kept for ten minutes, and the rate counts for fetches only`() async throws {
        self.transport.release()
        var admitted = 0
        for seconds in [0, 599, 600] as [Int64] {
            let now = Instant(seconds: self.now.seconds + seconds)
            let address = try self.url("https://one.example/c")
            _ = try await self.documents.document(at: address, now: now) { () throws(Failure) in admitted += 1 }
        }
        #expect(admitted == 2 && self.transport.count == 2)
    }

    @Test func `more documents than are kept replace the oldest only`() async throws {
        self.transport.release()
        for number in 0..<256 {
            _ = try await self.document(
                "https://many.example/\(number)",
                at: Instant(seconds: self.now.seconds + Int64(number))
            )
        }
        let later = Instant(seconds: self.now.seconds + 300)
        _ = try await self.document("https://many.example/new", at: later)
        let before = self.transport.count
        _ = try await self.document("https://many.example/255", at: later)
        #expect(self.transport.count == before)
        _ = try await self.document("https://many.example/0", at: later)
        #expect(self.transport.count == before + 1)
    }
}

/// A transport that responds with `{"a": 1}`, once it is released.
private final class HeldTransport: ProviderTransport {
    private struct State {
        var isReleased = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var count = 0
    }

    let arrivals: AsyncStream<String>
    private let arrived: AsyncStream<String>.Continuation
    private let state = Mutex(State())

    init() {
        (self.arrivals, self.arrived) = AsyncStream.makeStream(of: String.self)
    }

    var count: Int { self.state.withLock { $0.count } }

    func release() {
        let waiting = self.state.withLock { state in
            state.isReleased = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        await withCheckedContinuation { continuation in
            let isReleased = self.state.withLock { state in
                state.count += 1
                if !state.isReleased { state.waiting.append(continuation) }
                return state.isReleased
            }
            self.arrived.yield("\(request.address)")
            if isReleased { continuation.resume() }
        }
        return ProviderResponse(
            status: 200,
            headers: [("content-type", "application/json")],
            body: Array("{\"a\":1}".utf8)
        )
    }
}
