// SPDX-License-Identifier: Apache-2.0

/// How the lines of a message end.
package enum LineEnd: Sendable, Hashable {
    /// With CRLF, as RFC 9112 §2.2 has it.
    case crlf
    /// With LF alone, as some devices and CGI programs write responses.
    case lf

    /// The number of bytes.
    var count: Int {
        switch self {
        case .crlf: 2
        case .lf: 1
        }
    }
}
