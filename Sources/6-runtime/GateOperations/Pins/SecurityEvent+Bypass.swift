// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension SecurityEvent {
    /// The event if a reload ends the enforcement of a provider's pins; nil if all still are enforced.
    static func bypass(
        of provider: String,
        from old: PinPolicy?,
        to new: PinPolicy?,
        at now: Instant
    ) -> SecurityEvent? {
        guard let old else { return nil }
        let hosts = [nil] + Set(old.hosts.keys).union(new?.hosts.keys ?? [:].keys).sorted().map { Optional($0) }
        let given = hosts.filter { host in
            self.enforces(old, host, now) && !(new.map { self.enforces($0, host, now) } ?? false)
        }
        guard let first = given.first else { return nil }
        let what = new == nil ? "its pins were removed from the file" : "its pins only report now"
        let help = "connections are made whatever key is shown; write mode: enforce again as soon as you can"
        return SecurityEvent(
            name: .bypassed,
            severity: .warning,
            provider: provider,
            host: given.count == 1 ? first : nil,
            detail: "\(what); \(help)",
            at: now
        )
    }

    private static func enforces(_ policy: PinPolicy, _ host: String?, _ now: Instant) -> Bool {
        (host.map { policy.set(for: $0) } ?? policy.standard).demand(at: now) != .report
    }
}
