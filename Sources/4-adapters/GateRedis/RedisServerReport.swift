// SPDX-License-Identifier: Apache-2.0

/// What a server with data reports about itself.
package struct RedisServerReport: Sendable, Hashable {
    /// Its `maxmemory-policy`; nil if the user may not ask for it.
    package let evictionPolicy: String?
    /// Whether it removes sessions by itself when its memory is full.
    package let mayEvict: Bool

    package init(evictionPolicy: String?, mayEvict: Bool) {
        (self.evictionPolicy, self.mayEvict) = (evictionPolicy, mayEvict)
    }

    /// The report in a reply to `INFO memory`.
    init(_ reply: RESPValue) {
        let lines = String(decoding: reply.bytes ?? [], as: UTF8.self).split(whereSeparator: \.isNewline)
        func value(_ name: String) -> Substring? {
            lines.first { $0.hasPrefix("\(name):") }?.dropFirst(name.count + 1)
        }
        let policy = value("maxmemory_policy").map(String.init)
        let isLimited = value("maxmemory").map { $0 != "0" } ?? false
        self.init(evictionPolicy: policy, mayEvict: isLimited && policy.map { $0 != "noeviction" } ?? false)
    }
}
