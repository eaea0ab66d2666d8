// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization
internal import UnixSignals

extension Gateway {
    /// Serves until it is told to stop: SIGHUP or a changed file reloads, SIGTERM drains, SIGINT ends at once, and so
    /// does a second signal while it drains.
    ///
    /// - Parameter show: Called with what is to be said about the file at a reload.
    /// - Returns: Whether every request came to its end.
    package func run(show: @escaping @Sendable ([Diagnostic]) -> Void) async -> Bool {
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        let work = [
            Task { await self.watchFiles { source.yield(.reload) } },
            Task { await self.tidyRepeatedly() },
            Task { await self.surveyRepeatedly() },
            Task {
                for await signal in await UnixSignalsSequence(trapping: .sighup, .sigterm, .sigint) {
                    source.yield(signal == .sighup ? .reload : .stop(isGraceful: signal == .sigterm))
                }
            },
        ]
        let isComplete = await self.serve(events, source, show: show)
        for task in work {
            task.cancel()
        }
        await self.stop()
        return isComplete
    }

    /// What happens to a running gateway from outside its connections.
    private enum Event: Sendable {
        case reload
        case stop(isGraceful: Bool)
        case drained(complete: Bool)
    }

    private func serve(
        _ events: AsyncStream<Event>,
        _ source: AsyncStream<Event>.Continuation,
        show: @Sendable ([Diagnostic]) -> Void
    ) async -> Bool {
        var isDraining = false
        for await event in events {
            switch event {
            case .reload:
                guard await self.reload(show: show) else { continue }
                // Beside the next event, which may be the end.
                Task { await self.survey() }
            case .drained(let complete):
                return complete
            case .stop where isDraining:
                return await self.unfinished() == 0
            case .stop(let isGraceful):
                isDraining = true
                let delay = isGraceful ? self.options.drainDelay : .zero
                Task { source.yield(.drained(complete: await self.drain(delay: delay))) }
            }
        }
        return false
    }

    /// Looks once a second at the files that the configuration depends on; a change that has settled reloads.
    ///
    /// Comparing contents' identity instead of waiting for events also sees the link swaps of mounted secrets.
    private func watchFiles(changed: @Sendable () -> Void) async {
        var seen = self.fingerprints()
        var pending: [String: FileState?]?
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(500))
            let now = self.fingerprints()
            guard now != seen else {
                pending = nil
                continue
            }
            guard now == pending else {
                pending = now
                continue
            }
            changed()
            seen = now
            pending = nil
        }
    }

    private func fingerprints() -> [String: FileState?] {
        let files = self.state.withLock { $0.files } + [self.options.configurationFile]
        return Dictionary(files.map { ($0, PrivateFile.state(of: $0)) }) { first, _ in first }
    }

    /// Looks every hour for providers whose survey is due, which it is after a day or after one that failed.
    private func surveyRepeatedly() async {
        while !Task.isCancelled {
            await self.survey()
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func survey() async {
        await self.workshop.survey(self.state.withLock { $0.site })
    }

    private func tidyRepeatedly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            await self.workshop.tidy()
        }
    }
}
