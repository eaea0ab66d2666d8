// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// The gateway's own addresses, by the name behind `/oauth2/`.
enum EndpointPath: String, CaseIterable {
    /// The page that offers the accepted providers.
    case signIn = "sign_in"
    /// Begins a sign-in; a provider's name follows.
    case start
    /// Ends a sign-in; a provider's name follows.
    case callback
    /// Ends the session.
    case signOut = "sign_out"
    /// The profile of the signed-in person.
    case userinfo
    /// The apps that the user may open.
    case apps
    /// Carries a session from the gate to an app's own host.
    case handover
    /// Leads on to an address that was too long to travel through a sign-in.
    case resume = "return"
    /// The keys that verify assertions.
    case keys = "jwks.json"
    /// The style sheet of our pages.
    case style = "style.css"
    /// The icon of our pages.
    case icon = "icon.svg"

    /// The methods it takes.
    var methods: [RequestMethod] {
        switch self {
        case .signIn, .userinfo, .apps, .keys, .style, .icon: [.get, .head]
        case .start: [.get]
        case .signOut: [.get, .head, .post]
        case .callback: [.get, .post]
        case .handover, .resume: [.get]
        }
    }

    /// Whether the answer waits for nobody, so that it can be given however many wait for a provider.
    var isImmediate: Bool {
        switch self {
        case .signIn, .resume, .keys, .style, .icon: true
        case .start, .callback, .signOut, .userinfo, .apps, .handover: false
        }
    }

    /// Whether a provider's name may follow.
    var takesProvider: Bool { self == .start || self == .callback }
}
