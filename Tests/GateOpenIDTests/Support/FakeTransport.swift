// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import Synchronization

/// Responds by URL and records what was requested.
final class FakeTransport: ProviderTransport {
    private struct State: Sendable {
        var routes: [String: Result<ProviderResponse, Failure>] = [:]
        var requests: [ProviderRequest] = []
    }

    private let state = Mutex(State())

    /// What was sent, in order.
    var requests: [ProviderRequest] { self.state.withLock(\.requests) }

    /// The addresses that were asked, in order.
    var addresses: [String] { self.requests.map(\.address.description) }

    func count(_ address: String) -> Int { self.addresses.filter { $0 == address }.count }

    /// Sets the response of a URL from now on.
    func stub(_ address: String, _ status: Int, _ body: String, type: String = "application/json", age: String? = nil) {
        var headers = [(name: "Content-Type", value: type)]
        if let age { headers.append((name: "Cache-Control", value: "max-age=\(age)")) }
        let response = ProviderResponse(status: status, headers: headers, body: Array(body.utf8))
        self.state.withLock { $0.routes[address] = .success(response) }
    }

    func stub(_ address: String, _ body: JSON, age: String? = nil) {
        self.stub(address, 200, body.text, age: age)
    }

    /// Sets the response of a URL from now on, with fields of its own.
    func stub(_ address: String, _ body: JSON, status: Int = 200, fields: [String: String]) {
        let headers =
            [(name: "Content-Type", value: "application/json")] + fields.map { (name: $0.key, value: $0.value) }
        let response = ProviderResponse(status: status, headers: headers, body: body.encoded)
        self.state.withLock { $0.routes[address] = .success(response) }
    }

    /// Lets an address fail.
    func fail(_ address: String) {
        let failure = Failure(.providerUnavailable, "no connection")
        self.state.withLock { $0.routes[address] = .failure(failure) }
    }

    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let result = self.state.withLock { state in
            state.requests.append(request)
            return state.routes[request.address.description]
        }
        guard let result else {
            throw Failure(.providerUnavailable, "nothing is at \(request.address)")
        }
        return try result.get()
    }
}

/// A clock that the test moves.
final class TestClock: Sendable {
    private let seconds: Mutex<Int64>

    init(_ seconds: Int64 = 1_790_000_100) {
        self.seconds = Mutex(seconds)
    }

    var clock: WallClock { WallClock { self.now } }
    var now: Instant { Instant(seconds: self.seconds.withLock { $0 }) }

    func advance(by seconds: Int64) {
        self.seconds.withLock { $0 += seconds }
    }
}

/// Bytes that are never the same twice, and the same in every run.
func countingRandom() -> RandomBytes {
    let counter = Counter()
    return RandomBytes { count in
        let next = counter.next()
        return (0..<count).map { UInt8(truncatingIfNeeded: next &* 31 &+ $0 &* 7) }
    }
}

/// Counts up.
final class Counter: Sendable {
    private let value = Mutex(0)

    /// The next number, from 1.
    func next() -> Int {
        self.value.withLock { value in
            value += 1
            return value
        }
    }

    /// How many numbers were given.
    var count: Int { self.value.withLock { $0 } }
}
