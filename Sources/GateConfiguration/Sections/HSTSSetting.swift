// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `gateway.hsts`.
enum HSTSSetting: Sendable, Equatable {
    /// No field is sent.
    case off
    /// The time for which browsers remember it.
    case time(Duration)
}

extension Shape<HSTSSetting> {
    /// `off`, or a time.
    static let hsts: Shape = {
        let time = Shape<Duration>.duration(.zero...(.seconds(3650 * 86_400)), shown: "0s to 3650d")
        let schema: JSON = ["anyOf": [["const": "off"], time.schema]]
        return Shape("`off`, or \(time.kind)", schema: schema) { node, reading in
            if case .scalar("off", _) = node.content { return .off }
            return time.read(node, &reading).map { .time($0) }
        }
    }()
}
