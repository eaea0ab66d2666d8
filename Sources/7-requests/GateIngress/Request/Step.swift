// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateIssuer
internal import GateOpenID
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// What is to be done with a request next.
enum Step {
    /// Something has to be looked up, or spent; then it is decided again.
    indirect case need(LookUp)
    /// It is rejected; with all of these scopes its access token would be admitted.
    case reject(Failure, scopes: [String] = [])
    /// The gateway responds at once with a status.
    case respond(status: Int)
    /// The route does not take the method.
    case wrongMethod(RuntimeRoute)
    /// It is for an endpoint of the gateway.
    case endpoint
    /// The route needs something of the user that the request does not have.
    case signIn(RuntimeRoute, SignInStep)
    /// It goes to the app, with these identity lines; none on what is open to all.
    case forward(RuntimeRoute, identity: ByteBuffer?)
}

/// What a decision needs that has to be waited for, or that is spent by being looked up.
enum LookUp {
    /// The session of a cookie or of an access token, in the store.
    case session(SoughtSession)
    /// A token, which its issuer has to verify.
    case verification(MachineCredential, TokenIssuer)
    /// The proof that the sender has the key of its token; it is spent, so that it counts once.
    case proof(TokenProof)
    /// The messages in the body, since a rule is about them.
    case messages
}

/// The proof that the sender of a request has the key of its access token, which is spent once.
final class TokenProof {
    let key: String
    let token: AccessToken
    let text: ByteBuffer

    /// The proof for a token, which is bound to a key.
    init(of key: String, for token: AccessToken, text: ByteBuffer) {
        (self.key, self.token, self.text) = (key, token, text)
    }
}

/// A session that has to be looked up: of a cookie, or of the client that an access token was issued to.
struct SoughtSession {
    let ticket: Ticket
    let host: String

    init(_ ticket: Ticket, host: String) {
        self.ticket = ticket
        self.host = host
    }
}

/// What looking up a session or a token has led to; the session itself is known to the loop.
enum LookedUp {
    /// The store or the issuer has responded.
    case done
    /// The store did not respond, which is not the same as "no session".
    case unavailable(Failure)
    /// There is a session, which only the user can have confirmed.
    case needsUser(provider: String)
}
