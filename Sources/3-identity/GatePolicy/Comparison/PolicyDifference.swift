// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Who gains and who loses access to which apps under other rules, and by which of them.
package struct PolicyDifference: Sendable {
    /// What changes for a user.
    package enum Change: String, Sendable, Hashable, CaseIterable {
        /// A request that was possible is not any more.
        case lose
        /// A request becomes possible.
        case gain
        /// A request needs a more recent authentication or a passkey.
        case renew = "authenticate"
        /// A request does not need one any more.
        case relax = "authenticate_less"
    }

    /// Users for whom the same changes by the same rules.
    package struct Row: Sendable {
        package let change: Change
        /// Whether it is about clients without a session, not about users.
        package let isAnonymous: Bool
        /// The decision of the old rules.
        package let old: Verdict
        /// The decision of the new rules.
        package let new: Verdict
        /// The number of users.
        package internal(set) var users = 0
        /// Some of them, by user key.
        package internal(set) var examples: [String] = []
        /// The first request for which it changes.
        package let request: RequestSample
        /// The number of compared requests for which it changes.
        package internal(set) var requests = 0
    }

    /// Why an app is reported.
    package enum Kind: String, Sendable {
        /// Its rules have changed.
        case changed
        /// Only the new configuration has it.
        case added
        /// Only the old configuration has it.
        case removed
    }

    /// What changes about an app.
    package struct App: Sendable {
        package let name: String
        /// Why it is reported.
        package let kind: Kind
        /// The accepted providers before and after, if they differ.
        package internal(set) var providers: (old: Set<String>, new: Set<String>)?
        /// Whether hosts or path have changed.
        package internal(set) var isMoved = false
        /// Whether its rules name too many paths, methods, networks and times for all combinations to be compared.
        package internal(set) var isPartial = false
        /// How many users have access under the old rules.
        package internal(set) var holders = 0
        /// How many users lose access, to all or to a part of it.
        package internal(set) var losers = 0
        /// How many users gain access.
        package internal(set) var gainers = 0
        /// How many users must authenticate again.
        package internal(set) var renewals = 0
        /// How many users need not any more.
        package internal(set) var relaxations = 0
        /// The changes, those of most users first.
        package internal(set) var rows: [Row] = []
        /// The number of rows that were left out.
        package internal(set) var omittedRows = 0

        /// Whether there is anything to report.
        var isReported: Bool {
            !self.rows.isEmpty || self.kind != .changed || self.providers != nil || self.isMoved
        }
    }

    /// How many users were compared.
    package internal(set) var users = 0
    /// How many of them gain or lose access.
    package internal(set) var changedUsers = 0
    /// How many apps have the same decisions.
    package internal(set) var sameApps = 0
    /// The apps with differences: those that users lose first, each group in the order of the files.
    package internal(set) var apps: [App] = []

    /// Whether all decisions are the same.
    package var isEmpty: Bool { self.apps.isEmpty }

    /// The apps from which more than a share of their users would lose access, the largest loss first.
    package func losses(above share: AccessShare) -> [App] {
        self.apps.filter { share.isExceeded(by: $0.losers, of: $0.holders) }.sorted { $0.losers > $1.losers }
    }
}

// MARK: For programs

extension PolicyDifference {
    /// The difference for programs.
    ///
    /// - Parameter apps: The maximum number of apps.
    /// - Returns: An object; `omitted_apps` counts those that were left out.
    package func json(maxApps apps: Int = .max) -> JSON {
        [
            "users": .int(Int64(self.users)), "changed_users": .int(Int64(self.changedUsers)),
            "same_apps": .int(Int64(self.sameApps)),
            "apps": .array(self.apps.prefix(apps).map(\.json)),
            "omitted_apps": .int(Int64(max(0, self.apps.count - apps))),
        ]
    }
}

extension PolicyDifference.App {
    /// The changes of the app for programs.
    package var json: JSON {
        var members: [String: JSON] = [
            "app": .string(self.name), "kind": .string(self.kind.rawValue), "holders": .int(Int64(self.holders)),
            "losers": .int(Int64(self.losers)), "gainers": .int(Int64(self.gainers)),
            "authenticate": .int(Int64(self.renewals)), "authenticate_less": .int(Int64(self.relaxations)),
            "moved": .bool(self.isMoved),
            "partial": .bool(self.isPartial), "changes": .array(self.rows.map(\.json)),
            "omitted_changes": .int(Int64(self.omittedRows)),
        ]
        if let providers {
            members["providers"] = [
                "old": .array(providers.old.sorted().map(JSON.string)),
                "new": .array(providers.new.sorted().map(JSON.string)),
            ]
        }
        return .object(members)
    }

    /// The row to blame for the largest loss, in one sentence.
    package var worstLoss: String {
        guard let row = self.rows.first(where: { $0.change == .lose && !$0.isAnonymous }) else { return "" }
        return "\(row.request.text) was \(row.old.text(isAnonymous: false)), is \(row.new.text(isAnonymous: false))"
    }
}

extension PolicyDifference.Row {
    fileprivate var json: JSON {
        var request: [String: JSON] = ["method": .string(self.request.method), "path": .string(self.request.path)]
        request["client"] = self.request.client.map { .string($0.text) }
        request["scopes"] = self.request.scopes.map { .array($0.map(JSON.string)) }
        request["certificate"] = self.request.certificate.map { .string($0.text) }
        request["time"] = self.request.time.map { .string($0.timestamp) }
        return [
            "change": .string(self.change.rawValue), "anonymous": .bool(self.isAnonymous),
            "users": .int(Int64(self.users)), "examples": .array(self.examples.map(JSON.string)),
            "request": .object(request), "requests": .int(Int64(self.requests)),
            "old": self.old.json(isAnonymous: self.isAnonymous), "new": self.new.json(isAnonymous: self.isAnonymous),
        ]
    }
}

extension RequestSample {
    /// What a token permits, in words that follow a request.
    package static func text(ofToken scopes: [String]) -> String {
        scopes.isEmpty ? " by a token without scopes" : " by a token for \(scopes.joined(separator: " "))"
    }

    /// A certificate in words that follow a request.
    package static func text(ofCertificate text: String) -> String {
        text.isEmpty ? " with a certificate that no rule names" : " with a certificate of \(text)"
    }

    /// The request in words: `GET /admin/x from 10.0.0.0 at 2026-11-23T10:00:00Z`.
    package var text: String {
        let client = self.client.map { " from \($0.text)" } ?? ""
        let message = self.message.map { " with \($0)" } ?? ""
        let scopes = self.scopes.map { RequestSample.text(ofToken: $0) } ?? ""
        let certificate = self.certificate.map { RequestSample.text(ofCertificate: $0.text) } ?? ""
        let time = self.time.map { " at \($0.timestamp)" } ?? ""
        return "\(self.method) \(self.path)\(message)\(scopes)\(certificate)\(client)\(time)"
    }
}

extension Verdict {
    fileprivate func json(isAnonymous: Bool) -> JSON {
        var members: [String: JSON] = [
            "decision": .string(self.word?.rawValue ?? "none"), "reason": .string(self.reason(isAnonymous)),
            "text": .string(self.text(isAnonymous: isAnonymous)),
        ]
        members["file"] = self.place.map { .string($0.file) }
        members["line"] = self.place.map { .int(Int64($0.line)) }
        return .object(members)
    }

    private func reason(_ isAnonymous: Bool) -> String {
        self.decision?.reason(hasSession: !isAnonymous) ?? "there is no such app"
    }

    /// `denied by providers.yaml:14`, with the reason where no rule is to blame.
    package func text(isAnonymous: Bool) -> String {
        guard let word else { return "not an app" }
        guard let place else { return "\(word.rawValue) (\(self.reason(isAnonymous)))" }
        guard case .denied(.notAllowed)? = self.decision else { return "\(word.rawValue) by \(place)" }
        return "\(word.rawValue) (no entry of 'allow' matches, \(place))"
    }
}
