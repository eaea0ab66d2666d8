// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateRuntime
internal import GateSessions
internal import Synchronization

extension Gateway {
    /// Seals local accounts and passkeys with the present gateway secret: soon after each reload, and once an hour.
    ///
    /// Unlike sessions, accounts do not end before an earlier secret is removed.
    func sealAccountsRepeatedly() async {
        var known: ObjectIdentifier?
        var looks = 0
        while !Task.isCancelled {
            let runtime = self.state.withLock { $0.runtime }
            if known != ObjectIdentifier(runtime) || looks.isMultiple(of: 360) {
                known = ObjectIdentifier(runtime)
                await self.sealAccounts(of: runtime)
            }
            looks += 1
            try? await Task.sleep(for: .seconds(10))
        }
    }

    private func sealAccounts(of runtime: RuntimeConfiguration) async {
        guard
            runtime.users.passkeys != nil || runtime.users.connections != nil
                || runtime.providers.all.contains(where: { $0.accounts != nil })
        else { return }
        let log = self.log
        do throws(Failure) {
            let count = try await runtime.users.entries.sealAgain()
            if count > 0 { log.accountsSealed(count: count) }
        } catch {
            log.accountsNotSealed(error)
        }
    }
}
