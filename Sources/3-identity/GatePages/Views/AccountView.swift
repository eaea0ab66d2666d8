// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What the page about a user's account shows.
package struct AccountView {
    /// One of the user's sign-ins.
    package struct Session {
        /// The value of the field that ends it.
        package let id: String
        /// The browser and the operating system; nil if that is not known.
        package let device: String?
        /// When the user signed in.
        package let began: Instant
        /// When it was last used.
        package let used: Instant
        /// Whether it is that of the browser that asks.
        package let isHere: Bool

        /// A sign-in of these properties.
        package init(id: String, device: String?, began: Instant, used: Instant, isHere: Bool) {
            (self.id, self.device, self.began, self.used, self.isHere) = (id, device, began, used, isHere)
        }
    }

    /// When this session ends.
    package struct End {
        /// The end, however often it is used.
        let at: Instant
        /// After how long without a request it ends before.
        let idle: Duration

        /// An end of these properties.
        package init(at: Instant, idle: Duration) { (self.at, self.idle) = (at, idle) }
    }

    /// The sign-ins, this browser's first; nil if none are kept.
    package var sessions: [Session]?
    /// When the session of the browser that asks ends.
    package let ends: End
    package var hasMore: Bool
    /// Whether one has just ended.
    package let hasEnded: Bool
    /// The apps to which the access of the user ends by itself, that which ends first first.
    package var limitedApps: [(app: String, until: Instant)] = []
    /// Where the forms lead: to end a session, and to sign out.
    package let actions: (end: String, signOut: String)

    /// - Parameters:
    ///   - sessions: The sign-ins, this browser's first; nil if none are kept.
    ///   - ends: When the session of the browser that asks ends.
    ///   - hasMore: Whether there are more than these.
    ///   - hasEnded: Whether one has just ended.
    ///   - actions: Where the forms lead: to end a session, and to sign out.
    package init(
        sessions: [Session]?,
        ends: End,
        hasMore: Bool,
        hasEnded: Bool,
        actions: (end: String, signOut: String)
    ) {
        (self.sessions, self.ends, self.actions) = (sessions, ends, actions)
        (self.hasMore, self.hasEnded) = (hasMore, hasEnded)
    }

    /// How many groups the page lists.
    private static let maxGroups = 50

    /// The values of a template.
    func values(of profile: Profile, provider: String, in language: PageLanguage) -> [String: Any] {
        var facts: [[String: Any]] = []
        func add(_ label: PageText, _ value: String?, note: PageText? = nil, isCode: Bool = false) {
            guard let value, !value.isEmpty else { return }
            facts.append([
                "label": language.template(label).value, "value": value, "isCode": isCode, "hasNote": note != nil,
                "note": note.map { language.template($0).value } ?? "",
            ])
        }
        add(.accountName, profile.name)
        add(.accountUsername, profile.username)
        add(.accountEmail, profile.email, note: profile.emailVerified ? nil : .accountUnverified)
        add(.accountProvider, provider)
        add(.accountSince, profile.authTime?.pageText)
        add(.accountKey, profile.forwardedKey, isCode: true)
        let groups = profile.groups.prefix(AccountView.maxGroups)
        let rest = profile.groups.count - groups.count
        return [
            "facts": facts, "groups": Array(groups), "hasGroups": !groups.isEmpty, "hasMoreGroups": rest > 0,
            "count": rest, "picture": profile.picture ?? "", "hasPicture": profile.picture != nil,
            "ends": self.ends.at.pageText, "idle": self.ends.idle.pageText, "keepsSessions": self.sessions != nil,
            "endAction": self.actions.end,
            "signOutAction": self.actions.signOut, "hasMore": self.hasMore, "hasEnded": self.hasEnded,
            "field": SessionForm.everywhere.name, "all": SessionForm.everywhere.value,
            "sessionField": SessionForm.session,
            "shown": self.sessions?.count ?? 0, "hasLimited": !self.limitedApps.isEmpty,
            "limited": self.limitedApps.map { ["name": $0.app, "until": $0.until.pageText] },
            "sessions": (self.sessions ?? []).map { session in
                [
                    "id": session.id, "device": session.device ?? "", "hasDevice": session.device != nil,
                    "isHere": session.isHere,
                    "began": session.began.pageText, "used": session.used.pageText,
                ] as [String: Any]
            },
        ]
    }
}

extension Duration {
    /// The duration as pages show it, by units that all languages have: `7 d`, `12 h`, `1 h 30 min`.
    fileprivate var pageText: String {
        let minutes = max(1, self.wholeSeconds / 60)
        let parts = [(minutes / 1440, "d"), (minutes / 60 % 24, "h"), (minutes % 60, "min")]
        return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

extension Instant {
    /// The time as pages show it, in UTC to the minute: no page has a script that knows the user's time zone.
    var pageText: String {
        let text = self.timestamp
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }
}
