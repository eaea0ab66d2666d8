// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Why a token or a key is not believed: a normal answer of a rule, not an error.
package struct TokenRejection: Sendable, Equatable, CustomStringConvertible {
    /// A stable dotted name.
    package let code: StaticString
    /// The sentence that demands it.
    package let source: StaticString
    /// Who has to act.
    package let kind: Failure.Kind
    /// What was received and what was expected, without secrets and on one line; empty where nothing can be shown.
    package let detail: String

    /// Makes a refusal, the fault of the provider by default.
    package init(
        _ code: StaticString,
        _ source: StaticString,
        _ kind: Failure.Kind = .providerFailed,
        detail: String = ""
    ) {
        self.code = code
        self.source = source
        self.kind = kind
        self.detail = detail
    }

    /// The name and the source.
    package var description: String { "\(self.code) (\(self.source))" }

    /// The refusal as the end of a sign-in.
    package var failure: Failure {
        Failure(self.kind, self.code, self.detail.isEmpty ? "refused by \(self.source)" : self.text)
    }

    /// Received and expected values, then the source.
    private var text: String { "\(self.detail) (\(self.source))" }

    /// Whether both have the same name.
    package static func == (left: TokenRejection, right: TokenRejection) -> Bool { "\(left.code)" == "\(right.code)" }
}
