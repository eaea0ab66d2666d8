// SPDX-License-Identifier: Apache-2.0

/// One section of the failure catalogue: a row for each failure, and the texts about them.
struct FailureTable: Sendable {
    private let section: Failure.Section
    private let rows: [Row]
    private let documentation: [Failure.Reason: String]
    private let advice: [Failure.Reason: String]

    /// The tables of all sections, in the order of ``Failure/Reason``.
    static let all = [
        signIn, sessionTransfer, logout, idToken, provider, request, wire, upstream, gateway, demo,
    ]

    /// What clients see of a failure, as far as it is not that of its kind; see ``Failure/Entry``.
    struct Row: Sendable {
        let reason: Failure.Reason
        let code: String
        let kind: Failure.Kind
        let status: Int?
        let retry: Failure.Retry?
        let page: Failure.Page?
        let shown: String?

        init(
            _ reason: Failure.Reason,
            _ code: String,
            _ kind: Failure.Kind,
            status: Int? = nil,
            retry: Failure.Retry? = nil,
            page: Failure.Page? = nil,
            shown: String? = nil
        ) {
            self.reason = reason
            self.code = code
            self.kind = kind
            self.status = status
            self.retry = retry
            self.page = page
            self.shown = shown
        }
    }

    /// A table; a row without documentation shares the text of the one before it.
    init(
        _ section: Failure.Section,
        rows: [Row],
        documentation: [Failure.Reason: String],
        advice: [Failure.Reason: String] = [:]
    ) {
        let reasons = Set(rows.map(\.reason))
        precondition(reasons.isSuperset(of: documentation.keys) && reasons.isSuperset(of: advice.keys))
        self.section = section
        self.rows = rows
        self.documentation = documentation
        self.advice = advice
    }

    /// The entries of the rows, in their order.
    var entries: [(reason: Failure.Reason, entry: Failure.Entry)] {
        self.rows.map { row in
            let entry = Failure.Entry(
                code: row.code,
                kind: row.kind,
                section: self.section,
                status: row.status ?? row.kind.status,
                retry: row.retry ?? row.kind.retry,
                page: row.page ?? row.kind.page,
                shown: row.shown,
                advice: self.advice[row.reason],
                documentation: self.documentation[row.reason]
            )
            return (row.reason, entry)
        }
    }
}
