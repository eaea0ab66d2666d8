// SPDX-License-Identifier: Apache-2.0

/// What the button of a provider is labelled with: in the language of the user, unless the operator wrote it.
package enum ProviderLabel: Sendable, Hashable {
    /// `Sign in with NAME`.
    case signIn(with: String)
    /// `Sign in with a password`, for local accounts.
    case password
    /// What the operator wrote.
    case custom(String)

    /// The label for a `name` of the file, which may be spelled like one of ours.
    package init(name: String) {
        let start = "Sign in with "
        guard name.hasPrefix(start) else {
            self = .custom(name)
            return
        }
        let rest = String(name.dropFirst(start.count))
        self = rest == "a password" ? .password : .signIn(with: rest)
    }

    /// What users know the provider by; nil for a text of ours only.
    package var name: String? {
        switch self {
        case .signIn(let name), .custom(let name): name
        case .password: nil
        }
    }
}
