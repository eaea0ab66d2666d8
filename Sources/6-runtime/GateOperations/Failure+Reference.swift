// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Failure {
    /// The reference of all error codes as Markdown, which is `docs/errors.md`, with a line break at its end.
    package static var reference: String {
        self.opening + Section.allCases.map(self.text).joined()
    }

    private static let opening = """
        # Error codes

        Every error page and every JSON error of the gateway has two things: a **code**, which this page explains, and an
        **incident**, a random word by which you find the detail in the log. A page never shows the detail itself.
        `gatehouse explain` with that word shows the detail, the request, the user, the rule and what to do:
        [administration.md](administration.md#incidents).

        A script gets `{"error": "<code>", "incident": "<word>"}`.
        [headers.md](headers.md#who-gets-a-page-and-who-gets-json) defines which clients are scripts. Browsers get a page for every
        error, also for a request that cannot be parsed.

        Each rejection is one log line `refused` at level info or above, with `incident`, `code` and, in `detail`, the reason. A flood
        cannot fill the log: for each kind of failure, pages and scripts apart, the limit is a burst of 200 lines and then 20 lines a
        second. The next line then has the number of omitted lines in `suppressed`, and `gatehouse_log_lines_suppressed_total` counts
        them.

        Codes are stable names. This page is the output of `gatehouse schema --errors`.

        """

    private static func text(of section: Section) -> String {
        let rows = self.rows(of: section).map { row in
            let codes = row.map { "`\($0.code)`" }.uniqued.joined(separator: ", ")
            let statuses = row.map { $0.shown ?? "\($0.status)" }.uniqued.joined(separator: ", ")
            let text = row.first?.documentation ?? ""
            return section.hasStatuses ? "| \(codes) | \(statuses) | \(text) |" : "| \(codes) | \(text) |"
        }
        let head = section.hasStatuses ? "| code | status | cause |\n|---|---|---|" : "| code | cause |\n|---|---|"
        return "\n## \(section.title)\n\n\(section.introduction)\(head)\n\(rows.joined(separator: "\n"))\n"
    }

    /// The entries of a section; those that share a text are one row.
    private static func rows(of section: Section) -> [[Entry]] {
        var rows: [[Entry]] = []
        for entry in Reason.allCases.map(\.entry) where entry.section == section {
            if entry.documentation == nil, let last = rows.indices.last {
                rows[last].append(entry)
            } else {
                rows.append([entry])
            }
        }
        return rows
    }
}

extension Failure.Reason {
    /// The failure that a log line names by its code; nil if no failure of this version has the code.
    package init?(code: String) {
        let known = Dictionary(Self.allCases.map { ($0.code, $0) }) { first, _ in first }
        guard let reason = known[code] else { return nil }
        self = reason
    }

    /// The text of its row in `docs/errors.md`, which it may share with the cases before it.
    package var documentation: String {
        let cases = Self.allCases
        let place = cases.firstIndex(of: self) ?? cases.startIndex
        return cases[...place].reversed().lazy.compactMap(\.entry.documentation).first ?? ""
    }
}

extension Failure.Section {
    /// Its heading in `docs/errors.md`.
    package var title: String {
        switch self {
        case .signIn: "Sign-in"
        case .sessionTransfer: "Session transfer to an app on its own host"
        case .logout: "Back-channel logout"
        case .idToken: "ID tokens"
        case .provider: "Providers"
        case .request: "Requests"
        case .wire: "Rejected messages"
        case .upstream: "Apps"
        case .gateway: "The gateway itself"
        case .demo: "The demo"
        }
    }

    /// Whether the table has a column for the status.
    fileprivate var hasStatuses: Bool { self != .idToken }

    /// The paragraph above the table, with an empty line after it; empty for none.
    fileprivate var introduction: String {
        switch self {
        case .signIn:
            "Users sign in again from the app's own URL. The log names the provider.\n\n"
        case .idToken:
            """
            All are 502: the provider sent a token that cannot be trusted. The log has the provider, the rule of the standard that
            was broken, and the received and the expected value; of secrets (`nonce`, `at_hash`) and of the subject only whether they
            are there.


            """
        case .wire:
            """
            Messages that two servers could read in two ways are rejected, because that is how requests are smuggled past a gateway.
            The connection is closed; over HTTP/2 the stream gets a response, or is reset if the bytes are not a request.


            """
        case .gateway:
            """
            503 means "later", and the browser keeps its session. 500 is a bug. Failures at the start are printed, and the gateway
            exits.


            """
        case .logout:
            """
            Responses to `POST /oauth2/backchannel-logout/{provider}`, always JSON: [sign-out.md](sign-out.md). The log names the
            provider.


            """
        case .sessionTransfer, .provider, .request, .upstream, .demo: ""
        }
    }
}

extension [String] {
    /// The elements without repetitions, in order.
    fileprivate var uniqued: [String] {
        var seen: Set<String> = []
        return self.filter { seen.insert($0).inserted }
    }
}
