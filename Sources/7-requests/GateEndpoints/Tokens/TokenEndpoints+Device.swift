// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions

extension TokenEndpoints {
    /// Takes the parameters of an authorization request.
    ///
    /// RFC 9126 §2.
    func push(_ form: Form, _ client: ClientSettings, _ own: EndpointRequest) throws -> Response {
        let pushed = try self.issuer.push(
            form,
            of: client,
            boundTo: self.proof(of: own)?.keyThumbprint,
            now: own.now
        )
        let uri = pushed.uri(by: self.runtime.sealer)
        let seconds = PushedRequest.lifetime.wholeSeconds
        return TokenEndpoints.json(201, ["request_uri": .string(uri), "expires_in": .int(seconds)])
    }

    /// Begins a sign-in that a user confirms on another device.
    ///
    /// RFC 8628 §3.1 and §3.2.
    func beginDevice(_ form: Form, _ client: ClientSettings, _ own: EndpointRequest) async throws -> Response {
        guard client.grants.contains(.deviceCode) else {
            throw OAuthError(.unauthorizedClient, "the client's 'grants' do not have device_code")
        }
        let asked = try self.issuer.deviceRequest(TokenRequest(client: client, form: form))
        let isAdmitted = self.runtime.services.devices.admitsBegin(from: own.client)
        guard isAdmitted, await self.runtime.sessions.count(.deviceBegins, of: own.network, now: own.now) else {
            throw OAuthError(.temporarilyUnavailable, "too many sign-ins begin; try again in a minute")
        }
        let device = try await self.runtime.sessions.beginDevice(
            of: client.id,
            scopes: asked.scopes,
            audiences: asked.audiences,
            now: own.now
        )
        let page = self.runtime.address(.device)
        let query = Form([Form.Field(Pages.deviceField, device.userCode.text)]).encoded
        return TokenEndpoints.json(
            200,
            [
                "device_code": .string(device.sealed(by: self.runtime.sealer)),
                "user_code": .string(device.userCode.text), "verification_uri": .string(page),
                "verification_uri_complete": .string("\(page)?\(query)"),
                "expires_in": .int(DeviceAuthorization.lifetime.wholeSeconds),
                "interval": .int(DeviceLimiter.interval.wholeSeconds),
            ]
        )
    }

    /// Redeems a device code.
    ///
    /// RFC 8628 §3.4 and §3.5.
    func redeemDevice(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        guard let text = request.form["device_code"] else {
            throw OAuthError(.invalidRequest, "'device_code' is missing")
        }
        guard let code = DeviceCode(sealed: text, by: self.runtime.sealer), isIdentical(code.client, request.client.id)
        else { throw OAuthError(.invalidGrant, "the device code is not one of this client") }
        guard own.now < code.expires else { throw TokenEndpoints.deviceExpired }
        let sessions = self.runtime.sessions
        let host = self.runtime.hosts.publicOrigin.host
        switch try await sessions.redeem(code, boundTo: request.keyThumbprint, gatewayHost: host, now: own.now) {
        case .pending:
            guard self.runtime.services.devices.admitsPoll(of: code.id) else {
                let seconds = DeviceLimiter.interval.wholeSeconds
                throw OAuthError(.slowDown, "ask less often: wait \(seconds) s longer from now on")
            }
            throw OAuthError(.authorizationPending, "the user has not decided yet")
        case .rejected: throw OAuthError(.accessDenied, "the user has rejected the device")
        case .redeemed: throw OAuthError(.invalidGrant, "the device code was used before")
        case .none: throw TokenEndpoints.deviceExpired
        case .issued(let session): return try await self.firstTokens(of: session, request, own, nonce: nil)
        }
    }

    private static var deviceExpired: OAuthError {
        OAuthError(.expiredToken, "the device code has expired, or the session of the user; begin again")
    }
}
