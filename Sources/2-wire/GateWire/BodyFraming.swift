// SPDX-License-Identifier: Apache-2.0

/// How the end of a body is found.
package enum BodyFraming: Sendable, Hashable {
    /// There is no body.
    case none
    /// This number of bytes.
    case length(Int64)
    /// Chunks, RFC 9112 §7.1.
    case chunked
    /// All bytes until the connection closes; responses only.
    case untilClose

    /// Whether both are the same.
    ///
    /// Spelled out, because other modules call the synthesized operator through a witness table, for each request.
    package static func == (left: BodyFraming, right: BodyFraming) -> Bool {
        switch (left, right) {
        case (.none, .none), (.chunked, .chunked), (.untilClose, .untilClose): true
        case (.length(let left), .length(let right)): left == right
        case (.none, _), (.length, _), (.chunked, _), (.untilClose, _): false
        }
    }
}
