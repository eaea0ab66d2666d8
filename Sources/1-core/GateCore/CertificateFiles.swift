// SPDX-License-Identifier: Apache-2.0

/// A certificate chain and its private key, as PEM files with absolute paths.
package struct CertificateFiles: Sendable, Hashable {
    /// The file of the chain, leaf first.
    package var certificate: String
    package var privateKey: String

    /// Names the two files.
    package init(certificate: String, privateKey: String) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
