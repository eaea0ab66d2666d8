// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateSessions
internal import Synchronization
internal import UnixSignals

/// Keeps signals from ending the process by themselves, from its making on; those that come wait until they are read.
package struct SignalTrap: Sendable {
    fileprivate let signals: UnixSignalsSequence

    /// Traps the signals that a gateway knows.
    package init() async {
        self.signals = await UnixSignalsSequence(trapping: .sighup, .sigterm, .sigint)
    }
}

extension Gateway {
    /// Serves until it is told to stop: SIGHUP or a changed file reloads; SIGTERM drains; SIGINT, or a second signal, ends it
    /// at once.
    ///
    /// - Parameters:
    ///   - trap: The signals, if they were trapped before the gateway was started.
    ///   - show: Called with what is to be said about the file at a reload.
    /// - Returns: Whether every request came to its end.
    package func run(
        _ trap: SignalTrap? = nil,
        show: @escaping @Sendable ([Diagnostic]) -> Void
    ) async -> Bool {
        // Trapped before anybody is told that the gateway is ready: an untrapped SIGHUP would end it.
        let signals = if let trap { trap.signals } else { await SignalTrap().signals }
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        let reloads = ReloadQueue { source.yield(.reload) }
        let background = [
            Task { await self.watchFiles { reloads.request() } },
            Task { await self.tidyRepeatedly() },
            Task { await self.watchStoreRepeatedly() },
            Task { await self.surveyRepeatedly() },
        ]
        let work = [
            Task { await self.watchOverload() },
            Task {
                for await signal in signals {
                    switch signal {
                    case .sighup: reloads.request()
                    case .sigterm: source.yield(.stop)
                    default: source.yield(.stopNow)
                    }
                }
            },
        ]
        self.notice.send(.ready)
        let isComplete = await self.serve(events, source, reloads, background, show: show)
        for task in background + work {
            task.cancel()
        }
        await self.stop()
        return isComplete
    }

    /// What happens to a running gateway from outside its connections.
    private enum Event: Sendable {
        case reload
        case stop
        case stopNow
        case drained(complete: Bool)
    }

    private func serve(
        _ events: AsyncStream<Event>,
        _ source: AsyncStream<Event>.Continuation,
        _ reloads: ReloadQueue,
        _ background: [Task<Void, Never>],
        show: @Sendable ([Diagnostic]) -> Void
    ) async -> Bool {
        var isDraining = false
        for await event in events {
            switch event {
            case .reload:
                reloads.begin()
                guard !isDraining, await self.reload(show: show) else { continue }
                // Beside the next event, which may be the end.
                Task { await self.survey() }
            case .drained(let complete):
                return complete
            case .stop where isDraining:
                return await self.unfinished() == 0
            case .stopNow:
                return await self.unfinished() == 0
            case .stop:
                isDraining = true
                for task in background {
                    task.cancel()
                }
                Task { source.yield(.drained(complete: await self.drain())) }
            }
        }
        return false
    }

    /// Looks twice a second at the files that the configuration depends on; a change that has settled reloads.
    private func watchFiles(changed: @Sendable () -> Void) async {
        var watch = FileWatch()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(500))
            let read = self.state.withLock { $0.files }
            if watch.isTime(read: read, now: read.now) { changed() }
        }
    }

    /// Looks every hour for providers whose survey is due, which it is after a day or after one that failed.
    private func surveyRepeatedly() async {
        while !Task.isCancelled {
            await self.survey()
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func survey() async {
        self.certificates.look()
        await self.workshop.survey(self.state.withLock { $0.site })
    }

    /// Removes sessions that are over.
    private func tidyRepeatedly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            let sessions = self.state.withLock { $0.site }.sessions
            _ = try? await sessions.removeExpired(now: WallClock.system.now)
        }
    }

    /// Looks whether the file of the session store is still the one that was opened.
    private func watchStoreRepeatedly() async {
        while !Task.isCancelled {
            _ = self.storeFault()
            try? await Task.sleep(for: .seconds(10))
        }
    }
}
