// SPDX-License-Identifier: Apache-2.0

/// Received text made fit for the detail of a failure.
enum ReceivedText {
    /// At most 200 characters, everything but visible ASCII and spaces escaped, so that a line break stays one line.
    static func quoted(_ text: some StringProtocol) -> String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(200) {
            shown += scalar.escaped(asASCII: true)
        }
        return "\"\(shown)\(text.unicodeScalars.count > 200 ? "..." : "")\""
    }
}
