// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite struct DNSCacheTests {
    /// A resolver that returns what the test sets, once it is released.
    private final class Names: Sendable {
        let response = Mutex<[IPAddress]>([])
        let questions = Mutex(0)
        let gate = Mutex<EventLoopFuture<Void>?>(nil)

        func ask(_ host: String) -> [IPAddress] {
            self.questions.withLock { $0 += 1 }
            if let wait = self.gate.withLock({ $0 }) { try? wait.wait() }
            return self.response.withLock { $0 }
        }
    }

    private let one: IPAddress
    private let two: IPAddress
    private let nine: IPAddress

    init() throws {
        self.one = try #require(IPAddress("192.0.2.1"))
        self.two = try #require(IPAddress("192.0.2.2"))
        self.nine = try #require(IPAddress("192.0.2.9"))
    }

    @Test func `concurrent lookups of a name share one query, which is repeated after the TTL`() async throws {
        let names = Names()
        names.response.withLock { $0 = [self.one] }
        let directory = DNSCache { names.ask($0) }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let open = loop.makePromise(of: Void.self)
        names.gate.withLock { $0 = open.futureResult }
        let waiting = (0..<20).map { _ in directory.addresses(of: "app", lifetime: .hours(1), on: loop) }
        open.succeed()
        for future in waiting { #expect(try await future.get() == [self.one]) }
        #expect(names.questions.withLock { $0 } == 1)
        #expect(try await directory.addresses(of: "app", lifetime: .hours(1), on: loop).get() == [self.one])
        #expect(names.questions.withLock { $0 } == 1)
        _ = try await directory.addresses(of: "short", lifetime: .nanoseconds(1), on: loop).get()
        names.response.withLock { $0 = [self.two] }
        #expect(try await directory.addresses(of: "short", lifetime: .nanoseconds(1), on: loop).get() == [self.two])
    }

    @Test func `R-64 the last known addresses stay when a lookup fails`() async throws {
        let names = Names()
        names.response.withLock { $0 = [self.one] }
        let directory = DNSCache { names.ask($0) }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        _ = try await directory.addresses(of: "app", lifetime: .nanoseconds(1), on: loop).get()
        names.response.withLock { $0 = [] }
        #expect(try await directory.addresses(of: "app", lifetime: .nanoseconds(1), on: loop).get() == [self.one])
    }

    @Test func `R-64 a hanging lookup delays neither other names nor connections with known addresses`() async throws {
        let names = Names()
        names.response.withLock { $0 = [self.one] }
        let directory = DNSCache { $0 == "other" ? [self.nine] : names.ask($0) }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        _ = try await directory.addresses(of: "app", lifetime: .nanoseconds(1), on: loop).get()
        let never = loop.makePromise(of: Void.self)
        names.gate.withLock { $0 = never.futureResult }
        let unknown = directory.addresses(of: "unknown", lifetime: .hours(1), on: loop)
        #expect(try await directory.addresses(of: "other", lifetime: .hours(1), on: loop).get().count == 1)
        #expect(try await directory.addresses(of: "app", lifetime: .hours(1), on: loop).get() == [self.one])
        never.succeed()
        #expect(try await unknown.get() == [self.one])
    }
}
