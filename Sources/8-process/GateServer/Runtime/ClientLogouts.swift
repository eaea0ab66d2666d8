// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GateOpenID
internal import GateProviderHTTP
internal import GateSessions
internal import Synchronization

/// Notifies clients that a sign-in has ended, in the background.
///
/// OpenID Connect Back-Channel Logout §2.5. A client that does not respond is asked three times; its access tokens and refresh
/// tokens have ended at the gateway in any case.
final class ClientLogouts: Sendable {
    private let transport: CurlTransport
    private let clock: WallClock
    private let random: RandomBytes
    /// Called with what failed at the last try.
    private let report: @Sendable (_ client: String, _ failure: Failure) -> Void
    private let pending = Mutex(0)

    /// How many notices may wait or be on their way.
    private static let maxPending = 2000
    /// How long after the first try each further one follows.
    private static let pauses = [Duration.seconds(1), .seconds(10)]
    private static let timeout = Duration.seconds(5)
    private static let lifetime = Duration.seconds(120)
    private static let connections = 16
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    init(
        clock: WallClock,
        random: RandomBytes,
        report: @escaping @Sendable (_ client: String, _ failure: Failure) -> Void
    ) throws(Failure) {
        self.transport = try CurlTransport(
            to: "clients",
            trust: ProviderTrust(),
            connections: ClientLogouts.connections,
            clock: clock
        )
        self.clock = clock
        self.random = random
        self.report = report
    }

    /// What a session manager does when a family ends; nil if no client wants to be notified.
    func notice(of issuer: Issuer?) -> SignOutNotice? {
        guard let issuer else { return nil }
        let targets = issuer.clients.compactMapValues(\.backChannelLogoutURI)
        guard !targets.isEmpty else { return nil }
        return SignOutNotice(clients: targets.keys.sorted()) { signInID, clients in
            for client in clients {
                guard let target = targets[client] else { continue }
                self.send(signInID, to: client, at: target, issuer)
            }
        }
    }

    private func send(_ signInID: String, to client: String, at target: WebURL, _ issuer: Issuer) {
        let isAdmitted = self.pending.withLock { pending in
            guard pending < ClientLogouts.maxPending else { return false }
            pending += 1
            return true
        }
        guard isAdmitted else {
            return self.report(
                client,
                Failure(.gatewayTooManyWaiting, "\(ClientLogouts.maxPending) notices are pending")
            )
        }
        Task {
            defer { self.pending.withLock { $0 -= 1 } }
            for pause in ClientLogouts.pauses + [nil] {
                do throws(Failure) {
                    return try await self.post(try self.token(signInID, for: client, issuer), to: target)
                } catch {
                    guard let pause else { return self.report(client, error) }
                    try? await Task.sleep(for: pause)
                }
            }
        }
    }

    /// The logout token.
    ///
    /// OpenID Connect Back-Channel Logout §2.4.
    private func token(_ signInID: String, for client: String, _ issuer: Issuer) throws(Failure) -> String {
        let now = self.clock.now
        return try issuer.signer.sign(
            [
                "aud": .string(client), "iat": .int(now.seconds),
                "exp": .int(now.advanced(by: ClientLogouts.lifetime).seconds), "jti": .string(self.random.token(16)),
                "sid": .string(signInID), "events": [ClientLogouts.event: [:]],
            ],
            as: .logoutToken
        )
    }

    private func post(_ token: String, to target: WebURL) async throws(Failure) {
        var request = ProviderRequest(
            method: "POST",
            address: target,
            headers: [
                (name: "User-Agent", value: "gatehouse"),
                (name: "Content-Type", value: "application/x-www-form-urlencoded"),
            ],
            body: Array(Form([Form.Field("logout_token", token)]).encoded.utf8),
            limit: 16_384,
            timeout: ClientLogouts.timeout
        )
        request.endpoint = .api
        let status = try await self.transport.response(to: request).status
        guard (200..<300).contains(status) else {
            throw Failure(.providerResponseMalformed, "\(target) responded \(status), expected 200")
        }
    }
}
