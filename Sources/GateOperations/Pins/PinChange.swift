// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a reload makes of a provider's pins.
struct PinChange {
    private let provider: String
    private let old: PinPolicy?
    private let new: PinPolicy?

    init(_ provider: String, from old: PinPolicy?, to new: PinPolicy?) {
        self.provider = provider
        self.old = old
        self.new = new
    }

    /// The event if pins that were enforced are no longer; nil if all still are.
    func event(at now: Instant) -> SecurityEvent? {
        guard let old = self.old else { return nil }
        let hosts = [nil] + Set(old.hosts.keys).union(self.new?.hosts.keys ?? [:].keys).sorted().map { Optional($0) }
        let given = hosts.filter { host in
            PinChange.enforces(old, host, now) && !(self.new.map { PinChange.enforces($0, host, now) } ?? false)
        }
        guard let first = given.first else { return nil }
        let what = self.new == nil ? "its pins were removed from the file" : "its pins only report now"
        let help = "connections are made whatever key is shown; write mode: enforce again as soon as you can"
        return SecurityEvent(
            name: .bypassed,
            severity: .warning,
            provider: self.provider,
            host: given.count == 1 ? first : nil,
            detail: "\(what); \(help)",
            at: now
        )
    }

    private static func enforces(_ policy: PinPolicy, _ host: String?, _ now: Instant) -> Bool {
        (host.map { policy.set(for: $0) } ?? policy.standard).demand(at: now) != .report
    }
}
