// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GateProviders

/// What a failure means, what the user saw, and what the operator can do.
struct IncidentAdvice: Sendable {
    /// What the failure means, as in `docs/errors.md`.
    let meaning: String
    /// What to do.
    let steps: String
    /// What the page showed.
    let page: String
    /// Where the documents explain it.
    let documents: [String]

    /// The advice on a failure.
    ///
    /// - Parameters:
    ///   - reason: The failure.
    ///   - app: The app, if it is known.
    ///   - provider: The provider, if it is known.
    ///   - configuration: The configuration, for the names in it; nil if it cannot be read.
    init(on reason: Failure.Reason, app: String?, provider: String?, configuration: Configuration?) {
        let entry = reason.entry
        var values = [
            "section": "providers.\(provider ?? "NAME")", "callback": "the one of the gateway",
            "hosted_domains": "'hosted_domains'", "workspaces": "'workspaces'",
        ]
        if let settings = configuration?.providers.first(where: { $0.id == provider }), let configuration {
            values = settings.adviceValues(callback: configuration.gateway.publicURL.callback(of: settings.id))
        }
        self.meaning = reason.documentation
        self.steps = entry.advice(values) ?? entry.kind.steps
        self.page = "\(entry.page.title(for: app)): \(entry.page.text(for: app))"
        let alert = RunBook(about: reason).map { "docs/alerts.md, section \($0.rawValue)" }
        self.documents = ["docs/errors.md, section \"\(entry.section.title)\""] + [alert].compactMap(\.self)
    }
}

extension Failure.Kind {
    /// What to do about a failure for which the catalogue has no advice of its own.
    fileprivate var steps: String {
        switch self {
        case .malformedRequest:
            "the client sent what no browser sends; if it is a client of yours, correct it, else nothing is to be done"
        case .signInRequired:
            "the user signs in again; a script has to send the session cookie"
        case .forbidden:
            "if the user should have access, add the user or a group to 'allow' of the app, and look for an entry of 'deny'"
        case .noSuchRoute:
            "if the URL should lead to an app, add or correct its 'host' and 'path' under 'apps'"
        case .methodNotAllowed:
            "if clients of the app need the method, add it to 'methods' of the app"
        case .tooLarge:
            "if requests of that size are right, raise 'max_body' of the app"
        case .tooMany:
            "one client is over a rate limit; if it goes on, find out which program it is, and block it in front of the gateway"
        case .providerFailed:
            "run 'gatehouse check --online', which tests each part of the provider by itself, and 'gatehouse try'"
        case .upstreamFailed, .upstreamTimedOut:
            "look at the app itself: whether it runs at the address of 'upstream', its own log, and 'upstreams' of /status"
        case .overloaded:
            "look at 'overload' and 'store_available' of /status for what is used up or does not respond"
        case .internalError:
            "report it with this output: it is a defect of the gateway or of its configuration"
        }
    }
}
