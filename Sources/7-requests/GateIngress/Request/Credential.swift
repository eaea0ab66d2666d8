// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateRuntime

/// What one kind of credential in a request leads to.
enum Credential {
    /// The request has none of this kind.
    case absent
    /// It means this caller.
    case caller(Caller)
    /// It is not valid, or cannot be checked now.
    case rejected(Failure)
    /// Something has to be looked up first.
    indirect case need(LookUp)
    /// The user has to do something first.
    case signIn(SignInStep)
}

/// Reads one kind of credential of a request; without waiting, and without spending anything.
protocol CredentialReader {
    /// What it leads to on the route of the request.
    ///
    /// - Parameters:
    ///   - request: The request, with what was looked up for it.
    ///   - route: Its route.
    ///   - known: What is known without waiting.
    /// - Returns: What it leads to.
    static func read(_ request: IngressRequest, on route: RuntimeRoute, _ known: some KnownCallers) -> Credential
}
