// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Shape<Duration?> {
    /// `off`, which is nil, or a time.
    static let hsts: Shape = {
        let time = Shape<Duration>.duration(.zero...(.seconds(3650 * 86_400)))
        let schema: JSON = ["anyOf": [["const": "off"], time.schema]]
        return Shape(
            "`off`, or \(time.kind)",
            schema: schema,
            write: { .string($0.map(DurationText.text(of:)) ?? "off") },
            read: { node, reading in
                if case .scalar("off", _) = node.content { return .some(nil) }
                return time.read(node, &reading)
            }
        )
    }()
}
