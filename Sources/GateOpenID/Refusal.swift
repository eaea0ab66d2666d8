// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Why a token or a key is not believed: a normal answer of a rule, not an error.
package struct Refusal: Sendable, Equatable, CustomStringConvertible {
    /// A stable dotted name.
    package let code: StaticString
    /// The sentence that demands it.
    package let source: StaticString
    /// Who has to act.
    package let kind: Failure.Kind

    /// Makes a refusal, the fault of the provider unless told.
    package init(_ code: StaticString, _ source: StaticString, _ kind: Failure.Kind = .providerFailed) {
        self.code = code
        self.source = source
        self.kind = kind
    }

    /// The name and the source.
    package var description: String { "\(self.code) (\(self.source))" }

    /// The refusal as the end of a sign-in.
    package var failure: Failure { Failure(self.kind, self.code, "refused by \(self.source)") }

    /// Whether both have the same name.
    package static func == (left: Refusal, right: Refusal) -> Bool { "\(left.code)" == "\(right.code)" }
}
