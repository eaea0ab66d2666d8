// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
internal import GateHTTP
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

extension ShownCertificate {
    /// The most bytes of a chain, and of a key.
    private static let limit = 1 << 18

    /// Reads a chain and its key.
    ///
    /// - Throws: `tls.certificate_unreadable`, `tls.key_unreadable` or `tls.key_mismatch`.
    package init(_ files: CertificateFiles) throws(Failure) {
        _ = try TLSIdentity(certificateFile: files.certificate, keyFile: files.privateKey)
        guard case .bytes(let chain) = FileAccess.system.read(files.certificate, limit: Self.limit) else {
            throw Failure(.tlsCertificateUnreadable, "\(files.certificate) cannot be read or has more than 256 KiB")
        }
        guard case .bytes(let key) = FileAccess.system.read(files.privateKey, limit: Self.limit) else {
            throw Failure(.tlsKeyUnreadable, "\(files.privateKey) cannot be read or has more than 256 KiB")
        }
        self.init(file: files.certificate, chain: chain, key: Secret(key))
    }
}

extension ProviderSettings {
    /// What the file trusts as this provider, and what is shown to it, with the files as they are now.
    ///
    /// - Throws: `provider.ca_file` if the file of the authorities cannot be read; `tls.…` if a certificate of the gateway's own
    ///   cannot be used.
    package func trust() throws(Failure) -> ProviderTrust {
        var trust = ProviderTrust(pins: self.pins, proxy: self.proxy)
        if let caFile { trust.authorities = try ProviderTrust.authorities(in: caFile) }
        trust.certificate = try self.shownCertificate.map { (files) throws(Failure) in try ShownCertificate(files) }
        return trust
    }
}
