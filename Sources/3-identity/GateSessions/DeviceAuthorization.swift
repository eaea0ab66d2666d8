// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A sign-in that a client without a browser has begun, and that a user confirms on another device.
///
/// RFC 8628 §3.
package struct DeviceAuthorization: Sendable, Hashable {
    /// How long the user may take.
    package static let lifetime = Duration.seconds(600)

    /// What has become of it.
    enum State: Sendable, Hashable {
        /// The user has not decided.
        case pending
        /// The user who has this ticket at the gateway's host has confirmed it.
        case confirmed(Ticket)
        /// The user has rejected it.
        case rejected
        /// The client has its tokens.
        case redeemed
    }

    package let client: String
    /// The scopes, in the order of the request.
    package let scopes: [String]
    /// The audiences that access tokens may have.
    package fileprivate(set) var audiences: [String]
    package let expires: Instant
    /// The id that the device code has.
    let id: String
    var state = State.pending

    /// Whether the user may still decide.
    package var isPending: Bool { self.state == .pending }
}

/// What the client has to redeem such a sign-in: sealed, so that a wrong one costs no look-up.
///
/// RFC 8628 §3.2.
package struct DeviceCode: Sendable, Hashable {
    private static let purpose = "client/device-code"

    /// The id of the sign-in.
    package let id: String
    package let client: String
    package let expires: Instant
    /// The code that the user types, by which the sign-in is found.
    package let userCode: UserCode

    init(_ device: DeviceAuthorization, _ userCode: UserCode) {
        self.id = device.id
        self.client = device.client
        self.expires = device.expires
        self.userCode = userCode
    }

    /// Opens a code that this gateway sealed, expired or not; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = sealer.openText(text, for: DeviceCode.purpose), let id = json["id"]?.string,
            let client = json["client"]?.string, let expires = json["expires"]?.integer,
            let userCode = json["code"]?.string.flatMap({ UserCode($0) })
        else { return nil }
        self.id = id
        self.client = client
        self.expires = Instant(seconds: expires)
        self.userCode = userCode
    }

    package func sealed(by sealer: Sealer) -> String {
        let members: [String: JSON] = [
            "id": .string(self.id), "client": .string(self.client), "expires": .int(self.expires.seconds),
            "code": .string(self.userCode.text),
        ]
        return sealer.sealText(members, for: DeviceCode.purpose)
    }
}

/// What the device code of a client leads to.
package enum DeviceRedemption: Sendable {
    /// The user has not decided yet.
    case pending
    /// The user has rejected it.
    case rejected
    case issued(ClientSession)
    /// It was redeemed before.
    case redeemed
    /// It has expired, or the user's session has ended.
    case none
}

// MARK: Sign-ins on another device

extension SessionManager {
    /// How often a new user code is drawn because the one before is taken.
    private static let maxDraws = 8

    /// Begins a sign-in.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - scopes: What it asks for.
    ///   - audiences: Whom its access tokens may be for.
    ///   - now: The time.
    /// - Returns: The code of the client, which has the user's.
    /// - Throws: If the store is unavailable.
    package func beginDevice(
        of client: String,
        scopes: [String],
        audiences: [String],
        now: Instant
    ) async throws(Failure) -> DeviceCode {
        let device = DeviceAuthorization(
            client: client,
            scopes: scopes,
            audiences: audiences,
            expires: now.advanced(by: DeviceAuthorization.lifetime),
            id: self.random.token(16)
        )
        for _ in 0..<SessionManager.maxDraws {
            let code = UserCode(random: self.random)
            guard try await self.entries.replace(nil, by: self.entry(device, code), at: now) else { continue }
            return DeviceCode(device, code)
        }
        throw SessionManager.busy
    }

    /// The sign-in that waits for a user with this code; nil if it does not exist, or has expired.
    package func device(_ code: UserCode, now: Instant) async throws(Failure) -> DeviceAuthorization? {
        try await self.found(code, now: now)?.device
    }

    /// Records what a user has decided about a sign-in.
    ///
    /// - Parameters:
    ///   - code: The code that the user has typed.
    ///   - ticket: The ticket of the user's session at the gateway's host; nil to reject the sign-in.
    ///   - audiences: The apps that the user has agreed to; nil for all that the client asked for.
    ///   - now: The time.
    /// - Returns: The sign-in; nil if it was decided before, or has expired.
    /// - Throws: If the store is unavailable.
    package func decideDevice(
        _ code: UserCode,
        by ticket: Ticket?,
        for audiences: [String]? = nil,
        now: Instant
    ) async throws(Failure) -> DeviceAuthorization? {
        guard let found = try await self.found(code, now: now), found.device.isPending else { return nil }
        var device = found.device
        if let audiences { device.audiences = device.audiences.filter(audiences.contains) }
        device.state = ticket.map(DeviceAuthorization.State.confirmed) ?? .rejected
        guard try await self.entries.replace(found.entry, by: self.entry(device, code), at: now) else { return nil }
        return device
    }

    /// Gives the client of a device code its session, once.
    ///
    /// - Parameters:
    ///   - code: The code, of the client that brings it.
    ///   - keyThumbprint: The key to which the tokens are bound; nil if they are not.
    ///   - gatewayHost: The host of `public_url`.
    ///   - now: The time.
    /// - Returns: What it led to.
    /// - Throws: If the store is unavailable; the code may be spent nevertheless.
    package func redeem(
        _ code: DeviceCode,
        boundTo keyThumbprint: String?,
        gatewayHost: String,
        now: Instant
    ) async throws(Failure) -> DeviceRedemption {
        guard let found = try await self.found(code.userCode, now: now), isIdentical(found.device.id, code.id) else {
            return .none
        }
        var device = found.device
        switch device.state {
        case .pending: return .pending
        case .rejected: return .rejected
        case .redeemed: return .redeemed
        case .confirmed(let ticket):
            device.state = .redeemed
            guard try await self.entries.replace(found.entry, by: self.entry(device, code.userCode), at: now) else {
                return .redeemed
            }
            let grant = ClientGrant(
                client: device.client,
                scopes: device.scopes,
                audiences: device.audiences,
                keyThumbprint: keyThumbprint,
                at: now
            )
            let issued = try await self.issue(grant, from: ticket, gatewayHost: gatewayHost, now: now)
            return issued.map(DeviceRedemption.issued) ?? .none
        }
    }

    private func found(
        _ code: UserCode,
        now: Instant
    ) async throws(Failure) -> (entry: StoreEntry, device: DeviceAuthorization)? {
        guard let entry = try await self.entries.entry(.device, self.key(of: code), at: now),
            let plain = self.sealer.open(entry.value, for: SessionManager.devicePurpose, part: code.bytes),
            let device = DeviceAuthorization(encoded: plain, expires: entry.expires)
        else { return nil }
        return (entry, device)
    }

    /// A store that is stolen shows no code that could be typed.
    private func key(of code: UserCode) -> [UInt8] {
        self.sealer.tag(of: code.bytes, for: SessionManager.devicePurpose, count: 32)
    }

    private func entry(_ device: DeviceAuthorization, _ code: UserCode) throws(Failure) -> StoreEntry {
        let value = self.sealer.seal(device.encoded, for: SessionManager.devicePurpose, part: code.bytes)
        guard !value.isEmpty else { throw SessionManager.notSealed }
        return StoreEntry(kind: .device, key: self.key(of: code), value: value, expires: device.expires)
    }

    private static let devicePurpose = "client/device"
}

extension DeviceAuthorization {
    /// The sign-in as the sealed entry has it.
    fileprivate var encoded: [UInt8] {
        var members: [String: JSON] = [
            "id": .string(self.id), "client": .string(self.client), "scopes": .array(self.scopes.map(JSON.string)),
            "audiences": .array(self.audiences.map(JSON.string)),
        ]
        switch self.state {
        case .pending: members["state"] = "pending"
        case .rejected: members["state"] = "rejected"
        case .redeemed: members["state"] = "redeemed"
        case .confirmed(let ticket):
            members["state"] = "confirmed"
            members["ticket"] = .string(ticket.text)
        }
        return JSON.object(members).encoded
    }

    fileprivate init?(encoded: [UInt8], expires: Instant) {
        guard let json = try? JSON(parsing: encoded, depth: 2), let id = json["id"]?.string,
            let client = json["client"]?.string, let scopes = json["scopes"]?.array?.compactMap(\.string),
            let audiences = json["audiences"]?.array?.compactMap(\.string)
        else { return nil }
        self.init(client: client, scopes: scopes, audiences: audiences, expires: expires, id: id)
        switch json["state"]?.string {
        case "pending": self.state = .pending
        case "rejected": self.state = .rejected
        case "redeemed": self.state = .redeemed
        case "confirmed":
            guard let ticket = json["ticket"]?.string.flatMap({ Ticket($0.utf8) }) else { return nil }
            self.state = .confirmed(ticket)
        default: return nil
        }
    }
}
