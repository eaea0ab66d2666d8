// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Why a token or a key is rejected.
package struct TokenRejection: Error, Sendable, CustomStringConvertible {
    /// The case of the failure catalogue.
    package let reason: Failure.Reason
    /// The sentence that demands it.
    package let source: StaticString
    /// What was received and what was expected, without secrets and on one line; empty where nothing can be shown.
    package let detail: String

    package init(_ reason: Failure.Reason, _ source: StaticString, detail: String = "") {
        self.reason = reason
        self.source = source
        self.detail = detail
    }

    package var description: String { "\(self.reason.code) (\(self.source))" }

    /// The rejection as the end of a sign-in.
    package var failure: Failure {
        Failure(self.reason, self.detail.isEmpty ? "rejected by \(self.source)" : "\(self.detail) (\(self.source))")
    }
}
