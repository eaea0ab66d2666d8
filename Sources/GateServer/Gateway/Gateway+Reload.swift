// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateProxy
internal import Logging
internal import NIOCore
internal import Synchronization

extension Gateway {
    /// Reads the file again and puts it in force; if anything is wrong the old one goes on.
    ///
    /// - Parameter show: Called with what is to be said about the file.
    /// - Returns: Whether the new configuration is in force.
    @discardableResult
    package func reload(show: ([Diagnostic]) -> Void) async -> Bool {
        self.notice.send(.reloading)
        defer { self.notice.send(.ready) }
        let began = Date()
        let before = self.state.withLock { $0.files }.now
        let result = ConfigurationFile.load(
            path: self.options.configurationFile,
            environment: self.options.environment
        )
        let files = before.extended(to: result.files + [self.options.configurationFile], readSince: began)
        show(result.diagnostics)
        do throws(Failure) {
            guard let configuration = result.configuration else {
                throw Failure(.gatewayConfiguration, result.firstError)
            }
            let plans = try RuntimeBuilder.plans(for: configuration)
            let site = try await self.workshop.site(for: configuration)
            self.warnOfFixedSettings(configuration)
            self.adopt(plans)
            self.ways.adopt(site)
            self.gate.update(site.limits.connections)
            for bound in self.loops {
                try? await bound.eventLoop.submit { bound.value.replace(with: site) }.get()
            }
            self.state.withLock { state in
                state.configuration = configuration
                state.files = files
                state.site = site
                state.loadedAt = WallClock.system.now
                state.lastReloadFailed = false
            }
            self.certificates.adopt(plans, configuration)
            self.warnOfMemory()
            self.metrics.reloaded(ok: true)
            self.logger.info("configuration reloaded", metadata: ["apps": "\(configuration.apps.count)"])
            return true
        } catch {
            self.state.withLock { state in
                state.lastReloadFailed = true
                state.files = files
            }
            self.metrics.reloaded(ok: false)
            self.logger.error(
                "reload failed, the old configuration stays in force",
                metadata: ["detail": "\(error.detail)"]
            )
            return false
        }
    }

    /// A listener takes the certificates, times and balancers of its own address; whether it is TLS is settled when it is
    /// opened.
    private func adopt(_ plans: [ListenerPlan]) {
        for listener in self.listeners.withLock({ $0 }) {
            let plan = plans.first { $0.host == listener.plan.host && $0.port == listener.plan.port }
            guard let plan, plan.identities.isEmpty == listener.plan.identities.isEmpty else { continue }
            listener.adopt(plan)
        }
    }

    private func warnOfFixedSettings(_ new: Configuration) {
        let old = self.state.withLock { $0.configuration }
        let addresses: (Configuration) -> [String] = {
            $0.gateway.listeners.map { "\($0.address) \($0.certificates.isEmpty) \($0.redirectsToHTTPS)" }
        }
        guard addresses(old) != addresses(new) || old.gateway.operations != new.gateway.operations else { return }
        self.logger.warning("changed listener addresses take effect after a restart only")
    }

    /// Ends everything; the gateway cannot be used any more.
    package func stop() async {
        for bound in self.loops {
            try? await bound.eventLoop.submit { bound.value.cutAll() }.get()
        }
        for listener in self.listeners.withLock({ $0 }) + self.operations.withLock({ $0 }) {
            await listener.close()
        }
        await self.ways.health?.stop()
        await self.workshop.close()
        try? await self.group.shutdownGracefully()
        try? await self.operationsGroup.shutdownGracefully()
    }

    /// Requests under way and answers on their way out, on all loops.
    func unfinished() async -> Int {
        var total = 0
        for bound in self.loops {
            total += (try? await bound.eventLoop.submit { bound.value.unfinished }.get()) ?? 0
        }
        return total
    }

    /// Tunnels, open or being opened, on all loops.
    func tunnels() async -> Int {
        var total = 0
        for bound in self.loops {
            total += (try? await bound.eventLoop.submit { bound.value.tunnels.count }.get()) ?? 0
        }
        return total
    }

    /// Requests between their head and the end of their answer, on all loops; tunnels are among them.
    func requestsInFlight() async -> Int {
        var total = 0
        for bound in self.loops {
            total += (try? await bound.eventLoop.submit { bound.value.inFlight }.get()) ?? 0
        }
        return total
    }
}

extension ConfigurationResult {
    /// The first error with its place in the file.
    var firstError: String {
        let error = self.diagnostics.first { $0.severity == .error }
        return error?.rendered.split(separator: "\n").first.map(String.init) ?? "the configuration has errors"
    }
}
