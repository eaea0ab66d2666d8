// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateHTTP
internal import Logging
internal import NIOCore
internal import Synchronization

extension Gateway {
    /// Looks four times a second how short of memory and descriptors the process is, and does what the stage demands.
    func watchOverload() async {
        var looks = 0
        var refusedBefore = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: OverloadMonitor.interval)
            let limits = self.state.withLock { $0.site.limits }
            let (before, sight) = self.overload.look(at: self.pulses, within: limits)
            if sight.stage != before { self.enter(sight, from: before) }
            looks += 1
            guard looks % 4 == 0 else { continue }
            if sight.stage >= .hurried { self.endIdle(sight, configured: limits.downstream.idle) }
            let refused = self.refusals.value
            if refused > refusedBefore, looks % 40 == 0 {
                self.logger.warning("connections refused", metadata: ["count": "\(refused - refusedBefore)"])
                refusedBefore = refused
            }
        }
    }

    /// Notes what the process uses before its first client: memory that is not counted as used, descriptors that are not to
    /// be given away.
    func began() async {
        self.overload.begin()
        await self.workshop.start(withDescriptors: self.overload.openDescriptors)
        let settings = self.state.withLock { $0.configuration.gateway }
        let limits = settings.limits.resolved(
            descriptors: self.descriptors,
            descriptorsAtStart: self.overload.openDescriptors
        )
        self.gate.update(limits.connections)
        self.warnOfMemory()
    }

    /// Logs that the limit of memory leaves nothing for requests.
    func warnOfMemory() {
        guard let limit = self.state.withLock({ $0.site.limits.memory }), limit < self.overload.minMemory else {
            return
        }
        self.logger.warning(
            "memory limit is too low",
            metadata: [
                "limit": "\(limit)", "at_start": "\(self.overload.memoryAtStart)",
                "used_instead": "\(self.overload.minMemory)",
                "detail": "the process itself needs nearly as much; raise gateway.limits.memory",
            ]
        )
    }

    private func enter(_ sight: OverloadMonitor.Sight, from before: OverloadStage) {
        let stage = sight.stage
        self.logger.log(
            level: stage > before ? .warning : .notice,
            "overload",
            metadata: [
                "stage": "\(stage.name)", "before": "\(before.name)", "share": "\(Int(sight.share * 100))%",
                "memory": "\(sight.vitals.memory)", "descriptors": "\(sight.vitals.descriptors)",
                "lag_ms": "\(sight.vitals.lag.nanoseconds / 1_000_000)", "requests": "\(sight.vitals.requests)",
            ]
        )
        self.signIns.close(stage.refusesSignIns)
        // The loops first: whoever is let in again must not meet the stage before.
        for bound in self.loops {
            bound.eventLoop.execute { bound.value.enter(stage) }
        }
        for listener in self.listeners.withLock({ $0 }) {
            listener.hold(stage.holdsAccepting)
        }
    }

    private func endIdle(_ sight: OverloadMonitor.Sight, configured: TimeAmount) {
        let time = OverloadMachine.idleTime(at: sight.share, configured: configured)
        guard time < configured else { return }
        for bound in self.loops {
            bound.eventLoop.execute { bound.value.endIdle(for: time) }
        }
    }
}
