// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateRedis

extension ProviderFinding {
    /// What is found at the Redis of the sessions: whether it can be written, and whether it ends sessions by itself.
    static func about(_ settings: RedisSettings) async -> ProviderFinding {
        do throws(Failure) {
            let store = try await RedisStore.open(settings)
            let finding = await self.about(settings.name, store)
            await store.close()
            return finding
        } catch {
            return ProviderFinding("sessions", .store, .failure, error.detail)
        }
    }

    private static func about(_ name: String, _ store: RedisStore) async -> ProviderFinding {
        do throws(Failure) {
            try await store.check()
            let servers = try await store.servers()
            if let policy = servers.first(where: \.mayEvict)?.evictionPolicy {
                let help = "it ends sessions when its memory is full; set maxmemory-policy to noeviction"
                return ProviderFinding("sessions", .store, .warning, "\(name) has maxmemory-policy \(policy): \(help)")
            }
            guard servers.allSatisfy({ $0.evictionPolicy != nil }) else {
                let help = "it is not known whether it ends sessions when its memory is full; add '+info' to its ACL"
                return ProviderFinding("sessions", .store, .warning, "\(name): the user may not run INFO, so \(help)")
            }
            return ProviderFinding("sessions", .store, .good, "\(name) accepts writes and ends no session by itself")
        } catch {
            let help = "check 'store', the password and the firewall"
            return ProviderFinding("sessions", .store, .failure, "\(error.detail); \(help)")
        }
    }
}
