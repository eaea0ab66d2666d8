// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a page about a failure may show of its request, beside the failure itself.
struct PageContext: Sendable {
    /// A user by name and account.
    struct User: Sendable {
        /// The name that the user knows, such as `Ada Lovelace`.
        let name: String
        /// What distinguishes this account from another one of the same user, such as `ada@example.com, Google`.
        let account: String
        /// Whether there is a session; not so where a sign-in is rejected.
        let isSignedIn: Bool

        /// The user of a profile, signed in with a provider of that name.
        init(_ profile: Profile, provider: String, isSignedIn: Bool) {
            let name = profile.name ?? profile.username ?? profile.email ?? profile.subject
            let more = [profile.email ?? profile.username, provider].compactMap(\.self).filter { $0 != name }
            self.name = name
            self.account = more.joined(separator: ", ")
            self.isSignedIn = isSignedIn
        }
    }

    /// A place on an origin of ours.
    struct Place: Sendable, Hashable {
        let origin: Origin
        let path: ReturnPath
    }

    /// The user, if known.
    var user: User?
    /// The name of the app that the request was for.
    var app: String?
    /// Where the user was going.
    var place: Place?
    /// The provider that the request was about, for the log.
    var provider: String?
    /// What is offered in place of what failed.
    var others: [PageButton] = []
    /// Whether the request came for a host of ours, so that the page may link to the gateway's.
    var isOurHost = true
}

extension PageContext {
    /// The buttons of a page about a failure.
    func buttons(for failure: Failure, at publicOrigin: Origin) -> [PageButton] {
        guard self.others.isEmpty else { return self.others }
        let steps = failure.reason.entry.page.steps.filter { self.permits($0, after: failure.kind) }
        return steps.map { $0.button(at: publicOrigin, in: self) }
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
    /// The heading, with the name of the app if it is known.
    func title(for app: String?) -> String { self.title.replacing("{app}", with: app ?? "this app") }

    /// The text, with the name of the app if it is known.
    func text(for app: String?) -> String { self.text.replacing("{app}", with: app ?? "this app") }
}

extension Form.Field {
    /// What the URL of a sign-in carries when the provider has to offer another account.
    static let selectAccount = Form.Field("prompt", "select_account")
}

extension Failure.Step {
    /// The button for this step.
    func button(at publicOrigin: Origin, in context: PageContext) -> PageButton {
        let origin = context.place?.origin ?? publicOrigin
        let query = context.place.map { [Form.Field("rd", $0.path.value)] } ?? []
        func address(_ name: String, _ fields: [Form.Field]) -> String {
            "\(origin)/oauth2/\(name)\(fields.isEmpty ? "" : "?\(Form(fields).encoded)")"
        }
        switch self {
        case .signIn: return PageButton(address: address("sign_in", query), text: "Sign in")
        case .signInAgain: return PageButton(address: address("sign_in", query), text: "Sign in again")
        case .otherAccount:
            let fields = query + [.selectAccount]
            return PageButton(address: address("sign_in", fields), text: "Sign in with another account")
        case .signOut: return PageButton(address: address("sign_out", []), text: "Sign out")
        case .apps: return PageButton(address: "\(publicOrigin)/oauth2/apps", text: "Show my apps")
        case .retry:
            guard let place = context.place else {
                return Failure.Step.signInAgain.button(at: publicOrigin, in: context)
            }
            return PageButton(address: "\(place.origin)\(place.path)", text: "Try again")
        }
    }
}
