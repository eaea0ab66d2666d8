// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
package import GateProviderHTTP
package import GateProviders

extension ProviderTrust {
    /// The most bytes of a file of authorities.
    private static let limit = 1 << 20

    /// The certificates in a PEM file.
    ///
    /// - Throws: `provider.ca_file` if it cannot be read.
    package static func authorities(in file: String) throws(Failure) -> [UInt8] {
        guard case .bytes(let bytes) = FileAccess.system.read(file, limit: self.limit) else {
            throw Failure(.providerCAFile, "\(file) cannot be read or has more than 1 MiB")
        }
        return bytes
    }
}

extension ProviderSettings {
    /// What the file trusts as this provider, with the certificate authorities as they are now.
    ///
    /// - Throws: `provider.ca_file` if their file cannot be read.
    package func trust() throws(Failure) -> ProviderTrust {
        var trust = ProviderTrust(pins: self.pins, proxy: self.proxy)
        if let caFile { trust.authorities = try ProviderTrust.authorities(in: caFile) }
        return trust
    }
}
