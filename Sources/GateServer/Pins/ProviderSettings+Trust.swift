// SPDX-License-Identifier: Apache-2.0

internal import GateProviderHTTP
internal import GateProviders

extension ProviderSettings {
    /// Whom the file wants believed to be this provider.
    var trust: ProviderTrust { ProviderTrust(caFile: self.caFile, pins: self.pins, proxy: self.proxy) }
}
