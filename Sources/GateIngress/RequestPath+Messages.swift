// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire

/// What is known of the messages to an MCP server in the body of a request.
enum MessageReading {
    /// Nothing yet.
    case unread
    /// These are all.
    case read(MCPBody)
    /// It is not known how the server would read them: why.
    case unreadable(String)
}

/// The decision of rules that are about messages.
enum MessageDecision {
    /// This one.
    case decision(Decision)
    /// The body has to be read before.
    case unread
    /// It depends on messages that cannot be read.
    case unreadable(Failure)
}

// Rules about the messages to an MCP server.
extension RequestPath {
    /// The decision about a request whose every message must be admitted.
    ///
    /// A decision that is the same whatever the message is not worth reading the body: an admission with the message unknown, and
    /// a denial by an entry that does not ask for it.
    func messageDecision(
        by rules: RequestRules,
        about request: RequestHead,
        on route: RuntimeRoute,
        session: Session,
        _ client: () -> IPAddress?
    ) -> MessageDecision {
        func decision(_ message: MCPMessage?) -> Decision {
            self.decision(by: rules, about: request, on: route, session: session, message: message, client)
        }
        switch self.messages(of: request, on: route) {
        case .read(let body):
            var decisions = body.messages.map { decision($0) }
            let denied = decisions.firstIndex { !$0.isAdmission }
            return .decision(decisions.remove(at: denied ?? 0))
        case .unread:
            let early = decision(nil)
            return early.isIndependentOfFacts ? .decision(early) : .unread
        case .unreadable(let why):
            let early = decision(nil)
            guard case .denied = early, !early.isIndependentOfFacts else { return .decision(early) }
            return .unreadable(
                Failure(.policyFactUnknown, "\(session.profile.user) may not enter \(route.name): \(why)")
            )
        }
    }

    private func messages(of request: RequestHead, on route: RuntimeRoute) -> MessageReading {
        guard case .unread = self.messages else { return self.messages }
        if let message = MCPBody.message(withoutBody: request) { return .read(MCPBody(message)) }
        guard request.method == .post, !request.isExtendedConnect else {
            return .unreadable(
                "a rule asks for the message, and a \(request.method.rawValue) request to an MCP server has none"
            )
        }
        guard route.forwardAuth == nil else {
            return .unreadable("a rule asks for the message, and the proxy of 'forward_auth' asks without the body")
        }
        return .unread
    }
}

extension Decision {
    /// Whether no fact that is unknown can change it.
    fileprivate var isIndependentOfFacts: Bool {
        if case .denied(.denyEntry) = self { return true }
        return self.isAdmission
    }
}
