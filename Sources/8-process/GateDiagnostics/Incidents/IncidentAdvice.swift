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
            values = settings.adviceValues(callback: configuration.gateway.callback(of: settings.id))
        }
        self.meaning = reason.documentation
        self.steps = entry.advice(values) ?? reason.steps ?? entry.kind.steps
        self.page = "\(entry.page.title(for: app)): \(entry.page.text(for: app))"
        let alert = RunBook(about: reason).map { "docs/alerts.md, section \($0.rawValue)" }
        self.documents = ["docs/errors.md, section \"\(entry.section.title)\""] + [alert].compactMap(\.self)
    }
}

extension Failure.Reason {
    /// What to do about a failure for which the advice of its kind would be wrong; nil for all others.
    fileprivate var steps: String? {
        switch self {
        case .policyDenied:
            "if the user should have access, remove or narrow the entry of 'deny'"
        case .policyEmailNotAuthoritative:
            "the detail names the entry of 'allow' and what to write there if a verified address is enough"
        case .policyEmailUnknown, .policyGroupsUnknown:
            "a new sign-in asks the provider again; docs/providers explains when it sends neither address nor groups"
        case .signInSignedOut, .providerInteractionRequired, .providerGrantEnded:
            "the user signs in again; nothing else is to be done"
        case .requestNotNavigation:
            "nothing is to be done, unless a page of yours loads the sign-in as a part of it: let it link to the app"
        case .requestCrossSite, .requestCrossSiteWebSocket:
            "another site sent the browser here; if that site is yours, list its origin in 'origins' of the app, else "
                + "nothing is to be done"
        case .requestMisdirected:
            "the client used a connection that it made for another host; browsers repeat the request by themselves"
        case .policyCertificate, .clientCertificateMissing:
            "install a certificate of one of the authorities in 'client_certificates.ca_file' on the device; the gateway asks for it "
                + "on the listeners and 'hosts' of that section only"
        case .clientCertificateRejected:
            "the detail has the reason: replace the certificate, or correct 'ca_file' or 'crl_files' of 'client_certificates'"
        case .clientCertificateHeader:
            "let the proxy set the header itself on each request, in the 'form' of 'client_certificates.header', and remove the "
                + "client's in every spelling"
        case .routeMaintenance:
            "remove 'maintenance' from the app when the work is done"
        case .requestBodyTooLarge, .endpointMethod, .endpointNone, .providerNone:
            "the request is for an endpoint of the gateway (docs/headers.md lists them); correct the client or the link"
        case .clientRejected:
            "the detail names the client and what it has to send: set that in the client, or correct its entry under 'clients'; "
                + "docs/clients.md has the errors, and the settings of common clients"
        case .clientRequest:
            "compare 'client_id' and 'redirect_uri' of the detail with the entry under 'clients' and its 'redirect_uris', byte by byte"
        case .providerBusy, .providerQueueFull:
            "if the provider can serve more calls at a time, raise its 'max_connections'; docs/running.md explains the wait"
        case .upstreamOverflow:
            "add targets to the app, or raise the limits under its 'upstream' if it can serve more"
        default: nil
        }
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
            "if the user should have access, add the user, an email domain or a group to 'allow' of the app"
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
