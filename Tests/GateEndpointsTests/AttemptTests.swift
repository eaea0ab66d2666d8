// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateHeaders
import GateTestSupport
import Synchronization
import Testing

@testable import GateEndpoints

@testable import GateRuntime

/// F-04: of many steps that begin before any has ended, no more are carried out than may fail.
@Suite struct AttemptTests {
    private let gateway: GatewayFixture

    init() throws {
        // No time passes for the limits, however slow the machine is.
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(signIns: SignInLimiter { start })
    }

    private func request(_ start: String = "POST /oauth2/password/staff") throws -> EndpointRequest {
        let client = try #require(IPAddress("192.0.2.1"))
        return EndpointRequest(
            try self.gateway.head(start),
            body: [],
            downstream: ForwardedHead.Downstream(
                peer: client,
                peerText: "192.0.2.1",
                isSecure: true,
                isTrusted: false
            ),
            runtime: self.gateway.runtime,
            now: self.gateway.clock.now
        )
    }

    /// How a step ends once it is allowed to.
    enum End: CaseIterable, Sendable {
        case malformed
        case wrongPassword
        case wrongPasskey
        case provider
        case good

        /// Whether it counts as failed.
        var counts: Bool { self == .malformed || self == .wrongPassword || self == .wrongPasskey }

        func response() throws(Failure) -> Response {
            var response = Response(200)
            switch self {
            case .malformed: throw Failure(.openIDStateMismatch, "test")
            case .provider: throw Failure(.providerUnavailable, "test")
            case .wrongPassword: response.rejection = Response.Rejection(.accountCredentials)
            case .wrongPasskey: response.rejection = Response.Rejection(.passkeyRejected)
            case .good: break
            }
            return response
        }
    }

    /// Steps that have begun together, and go on together.
    private final class Crowd: Sendable {
        struct State {
            var reached = 0
            var rejected = 0
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        let steps: SignInSteps
        private let state = Mutex(State())
        private let begun = AsyncStream<Void>.makeStream()

        init(_ steps: SignInSteps) {
            self.steps = steps
        }

        var reached: Int { self.state.withLock { $0.reached } }
        var rejected: Int { self.state.withLock { $0.rejected } }

        /// Waits in a step until all have begun.
        func wait() async {
            await withCheckedContinuation { continuation in
                self.state.withLock { state in
                    state.reached += 1
                    state.waiting.append(continuation)
                }
                self.begun.continuation.yield()
            }
        }

        func reject() {
            self.state.withLock { $0.rejected += 1 }
            self.begun.continuation.yield()
        }

        /// Lets all go on, once as many have begun or were rejected.
        func release(after count: Int) async {
            var begun = 0
            for await _ in self.begun.stream {
                begun += 1
                if begun == count { break }
            }
            for continuation in self.state.withLock({ $0.waiting }) { continuation.resume() }
        }
    }

    /// Begins a hundred steps before any has ended.
    private func hundred(
        _ step: @escaping @Sendable (Crowd, AttemptLimiter<ClientNetwork>.Attempt) async throws(Failure) -> Response
    ) async throws -> Crowd {
        let crowd = Crowd(SignInSteps(runtime: self.gateway.runtime) { _ in })
        let requests = try (0..<100).map { _ in try self.request() }
        await withTaskGroup(of: Void.self) { group in
            for request in requests {
                group.addTask {
                    do throws(Failure) {
                        _ = try await crowd.steps.limited(request) { attempt throws(Failure) in
                            try await step(crowd, attempt)
                        }
                    } catch {
                        if error.reason == .signInFailing { crowd.reject() }
                    }
                }
            }
            await crowd.release(after: requests.count)
        }
        return crowd
    }

    @Test(arguments: [("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")])
    func `what another page loads from the gateway does not count for the network of the user`(
        mode: String,
        destination: String
    ) async throws {
        let browser = Browser(self.gateway)
        let gate = "https://\(GatewayFixture.gate)/oauth2"
        let lines = "Sec-Fetch-Mode: \(mode)\r\nSec-Fetch-Dest: \(destination)\r\n"
        for path in ["callback/staff?code=c&state=s", "link/staff?token=t", "join/staff?token=t"] {
            for _ in 0..<(2 * SignInLimits().failuresPerMinute) {
                let response = try await browser.open("\(gate)/\(path)", lines)
                #expect(response.status == 403 && response.text.contains("request.not_navigation"))
            }
        }
        #expect(try await browser.open(try await browser.begin("staff")).status == 303)
    }

    @Test(arguments: End.allCases)
    func `of a hundred steps at once only as many are carried out as may fail in a minute`(end: End) async throws {
        let crowd = try await self.hundred { crowd, _ throws(Failure) in
            await crowd.wait()
            return try end.response()
        }
        let limit = SignInLimits().failuresPerMinute
        #expect(crowd.reached == limit && crowd.rejected == 100 - limit)
        // What did not fail has released its place.
        let again = try? await crowd.steps.limited(try self.request()) { () throws(Failure) in Response(200) }
        #expect((again == nil) == end.counts)
    }

    @Test func `sign-ins that wait for a provider take no place of those behind the same address`() async throws {
        let crowd = try await self.hundred { crowd, attempt throws(Failure) in
            attempt.release()
            await crowd.wait()
            return Response(200)
        }
        #expect(crowd.reached == 100 && crowd.rejected == 0)
    }

    @Test func `callbacks without an attempt count as failed`() async throws {
        let state = "\(String(repeating: "A", count: 22)).\(String(repeating: "B", count: 43))"
        let endpoints = Endpoints(runtime: self.gateway.runtime)
        var codes: [String?] = []
        for _ in 0...SignInLimits().failuresPerMinute {
            let request = try self.request("GET /oauth2/callback/staff?code=c1&state=\(state)")
            codes.append(await endpoints.response(to: request).code)
        }
        #expect(codes.dropLast().allSatisfy { $0 == "openid.attempt_lost" } && codes.last == "signin.failing")
    }
}
