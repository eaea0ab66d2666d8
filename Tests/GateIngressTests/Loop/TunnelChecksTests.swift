// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateSessions
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct TunnelChecksTests {
    @Test func `a few ask at a time, the others in the order in which they came`() {
        let checks = TunnelChecks()
        var asked: [Int] = []
        func ask(_ number: Int) {
            checks.begin {
                asked.append(number)
                return true
            }
        }
        for number in 0..<3000 { ask(number) }
        #expect(asked == Array(0..<TunnelChecks.maxConcurrent) && checks.concurrent == TunnelChecks.maxConcurrent)
        for count in 1...3000 {
            checks.finished()
            #expect(asked.count == min(3000, TunnelChecks.maxConcurrent + count))
            #expect(checks.concurrent == min(TunnelChecks.maxConcurrent, 3000 - count))
        }
        #expect(asked == Array(0..<3000))
        ask(3000)
        #expect(asked.last == 3000 && checks.concurrent == 1)
    }

    @Test func `B-10: those that need no result any more are passed over, however many they are`() {
        let checks = TunnelChecks()
        for _ in 0..<TunnelChecks.maxConcurrent { checks.begin { true } }
        for _ in 0..<200_000 { checks.begin { false } }
        var hasAsked = false
        checks.begin {
            hasAsked = true
            return true
        }
        checks.finished()
        #expect(hasAsked && checks.concurrent == TunnelChecks.maxConcurrent)
    }

    /// A tunnel of a user whose session the loop has not cached.
    private static func authorization(in gateway: GatewayFixture, _ ticket: Ticket) throws -> TunnelAuthorization {
        let lines = cookie(ticket) + "Origin: https://\(GatewayFixture.gate)\r\n"
        let request = gateway.decided(try gateway.head("GET /wiki", GatewayFixture.gate, lines))
        return TunnelAuthorization(of: request, on: try gateway.route("wiki"), session: nil, loop: gateway.loop)
    }

    @Test @MainActor
    func `B-10: however many tunnels ask at once, requests have their look-ups for themselves`() async throws {
        let gateway = try GatewayFixture(app: { $0.traffic.webSocket = WebSocketSettings() })
        let ticket = try await gateway.session(of: .staff(), on: GatewayFixture.gate).ticket
        var decisions = 0
        let tunnels = try (0..<2500).map { _ in try Self.authorization(in: gateway, ticket) }
        for tunnel in tunnels { tunnel.decide { _ in decisions += 1 } }
        #expect(gateway.loop.tunnelChecks.concurrent == TunnelChecks.maxConcurrent)
        #expect(gateway.loop.lookUps == 0 && gateway.loop.verifications == 0 && decisions == 0)
    }

    @Test @MainActor
    func `a tunnel that is checked again while it still asks does not ask twice, and is not known meanwhile`()
        async throws
    {
        let gateway = try GatewayFixture(app: { $0.traffic.webSocket = WebSocketSettings() })
        let ticket = try await gateway.session(of: .staff(), on: GatewayFixture.gate).ticket
        let tunnel = try Self.authorization(in: gateway, ticket)
        var decisions: [String] = []
        for _ in 0..<3 { tunnel.decide { decisions.append("\($0)") } }
        #expect(decisions == ["unknown", "unknown"] && gateway.loop.tunnelChecks.concurrent == 1)
    }
}
