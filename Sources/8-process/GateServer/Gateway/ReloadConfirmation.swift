// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOperations

/// Which reload was refused for what it takes from users, and whether an operator has confirmed it.
///
/// A confirmation is for the content of the refused files only, is used once and expires.
struct ReloadConfirmation: Sendable {
    /// A reload that was refused.
    struct RejectedReload: Sendable {
        /// Names the content of the files.
        let content: String
        /// When it was refused.
        let at: Instant
        /// What it would take.
        let loss: LossCheck.Loss

        /// How long it can be confirmed: later, other users may lose access.
        static let lifetime = Duration.seconds(3600)

        /// When it cannot be confirmed any more.
        var expires: Instant { self.at.advanced(by: RejectedReload.lifetime) }

        /// What it would take, and what to do.
        var detail: String {
            "\(self.loss.detail); see 'gatehouse policy confirm', which loads these files within an hour, or revert them"
        }

        /// For `/status`, without users.
        var status: GatewayStatus.RefusedReload {
            GatewayStatus.RefusedReload(
                content: self.content,
                at: self.at,
                expires: self.expires,
                detail: ServerLog.plain(self.loss.detail)
            )
        }

        /// For the operations API.
        var json: JSON {
            .object((self.status.json.object ?? [:]).merging(["difference": self.loss.difference]) { $1 })
        }
    }

    /// The reload that was refused last, if none has succeeded since.
    var rejected: RejectedReload?
    private var confirmed: (content: String, until: Instant)?

    /// How long the reload may take to begin once it is confirmed.
    private static let confirmationTime = Duration.seconds(60)

    /// An operator wants the refused files in force.
    mutating func confirm(_ content: String, at now: Instant) throws(OperationsRejection) {
        guard let rejected else { throw OperationsRejection(409, "no reload waits to be confirmed") }
        guard rejected.content == content else {
            throw OperationsRejection(409, "the refused files have changed since; see what they would take now")
        }
        guard now < rejected.expires else {
            throw OperationsRejection(409, "the reload was refused over an hour ago; reload again to compare again")
        }
        self.confirmed = (content, now.advanced(by: ReloadConfirmation.confirmationTime))
    }

    /// Whether files with this content are confirmed; true once.
    mutating func takeConfirmation(of content: String, at now: Instant) -> Bool {
        defer { self.confirmed = nil }
        guard let confirmed else { return false }
        return confirmed.content == content && now < confirmed.until
    }
}
