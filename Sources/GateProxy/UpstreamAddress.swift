// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Where an app listens.
package enum UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// Plain HTTP over TCP.
    case http(Origin)
    /// Plain HTTP over a Unix socket.
    case unix(path: String)

    /// The address as the configuration file writes it.
    package var description: String {
        switch self {
        case .http(let origin): origin.description
        case .unix(let path): "unix:\(path)"
        }
    }
}
