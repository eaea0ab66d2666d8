// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What a page about a failure may show of its request, beside the failure itself.
package struct PageContext: Sendable {
    /// A user by name and account.
    package struct User: Sendable {
        /// The name that the user knows, such as `Ada Lovelace`.
        package let name: String
        /// What distinguishes this account from another one of the same user, such as `ada@example.com, Google`.
        package let account: String
        /// Whether there is a session; not so where a sign-in is rejected.
        package let isSignedIn: Bool

        /// The user of a profile, signed in with a provider of that name.
        package init(_ profile: Profile, provider: String, isSignedIn: Bool) {
            let name = profile.name ?? profile.username ?? profile.email ?? profile.subject
            let more = [profile.email ?? profile.username, provider].compactMap(\.self).filter { $0 != name }
            self.name = name
            self.account = more.joined(separator: ", ")
            self.isSignedIn = isSignedIn
        }
    }

    /// A place on an origin of ours.
    package struct Place: Sendable, Hashable {
        package let origin: Origin
        /// The path on it, with its query.
        package let path: ReturnPath
        /// The value of `rd` that leads a sign-in back to the path.
        package let reference: ReturnPath

        /// The place of a path on an origin.
        package init(origin: Origin, path: ReturnPath, reference: ReturnPath) {
            self.origin = origin
            self.path = path
            self.reference = reference
        }
    }

    /// The user, if known.
    package var user: User?
    /// The name of the app that the request was for, as the file has it.
    package var app: String?
    /// The name of the app for users.
    package var title: String?
    /// Where the user was going.
    package var place: Place?
    /// The provider that the request was about, for the log.
    package var provider: String?
    /// The key of the user who was denied, for operators only.
    package var userKey: String?
    /// The rule that denied it, for operators only.
    package var rule: RulePlace?
    /// The authorities whose certificates of clients are accepted, by their names.
    package var issuers: String?
    /// What is offered in place of what failed.
    package var others: [PageButton] = []
    /// Whether the request came for a host of ours, so that the page may link to the gateway's.
    package var isOurHost = true

    /// A context of which nothing is known.
    package init() {}
}

extension PageContext {
    /// The buttons of a page about a failure.
    package func buttons(
        for failure: Failure,
        at publicOrigin: Origin,
        below endpoints: EndpointPrefix = .standard
    ) -> [PageButton] {
        guard self.others.isEmpty else { return self.others }
        let steps = failure.reason.entry.page.steps.filter { self.permits($0, after: failure.kind) }
        return steps.map { $0.button(at: publicOrigin, below: endpoints, in: self) }
    }

    /// Whether a step is of use: only signed-in users sign out, and on a foreign host no link leads to the gateway.
    private func permits(_ step: Failure.Step, after kind: Failure.Kind) -> Bool {
        switch step {
        case .signOut: self.user?.isSignedIn ?? true
        case .apps: kind == .noSuchRoute ? self.isOurHost : self.user?.isSignedIn ?? true
        case .signIn, .signInAgain, .otherAccount, .retry: true
        }
    }
}

extension Failure.Page {
    /// The heading in English, with the name of the app if it is known.
    package func title(for app: String?) -> String { self.plain(\.title, app) }

    /// The text in English, with the name of the app if it is known.
    package func text(for app: String?) -> String { self.plain(\.text, app) }

    private func plain(_ part: KeyPath<(title: String, text: String), String>, _ app: String?) -> String {
        (Failure.Page.english[self.name]?[keyPath: part] ?? "").replacing("{{app}}", with: app ?? "this app")
            .replacing("{{issuers}}", with: "the operators")
    }
}

extension Form.Field {
    /// What the URL of a sign-in carries when the provider has to offer another account.
    package static let selectAccount = Form.Field("prompt", "select_account")
    /// Asks for a sign-in without a page of the provider.
    package static let silent = Form.Field("prompt", "none")
}

extension Failure.Step {
    /// The button for this step.
    fileprivate func button(
        at publicOrigin: Origin,
        below endpoints: EndpointPrefix,
        in context: PageContext
    ) -> PageButton {
        let origin = context.place?.origin ?? publicOrigin
        let query = context.place.map { [Form.Field("rd", $0.reference.value)] } ?? []
        func address(_ name: String, _ fields: [Form.Field]) -> String {
            "\(origin)\(endpoints.path(name))\(fields.isEmpty ? "" : "?\(Form(fields).encoded)")"
        }
        switch self {
        case .signIn: return PageButton(address: address("sign_in", query), label: .text(.signIn))
        case .signInAgain: return PageButton(address: address("sign_in", query), label: .text(.signInAgain))
        case .otherAccount:
            let fields = query + [.selectAccount]
            return PageButton(address: address("sign_in", fields), label: .text(.otherAccount))
        case .signOut: return PageButton(address: address("sign_out", []), label: .text(.signOut))
        case .apps: return PageButton(address: "\(publicOrigin)\(endpoints.path("apps"))", label: .text(.showApps))
        case .retry:
            guard let place = context.place else {
                return Failure.Step.signInAgain.button(at: publicOrigin, below: endpoints, in: context)
            }
            return PageButton(address: "\(place.origin)\(place.path)", label: .text(.retry))
        }
    }
}
