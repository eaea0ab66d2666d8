// SPDX-License-Identifier: Apache-2.0

/// A header in which an app can get the verified certificate of the client.
package enum CertificateHeader: String, Sendable, CaseIterable {
    /// In the form of Envoy: hash, certificate, subject and alternative names.
    case envoy = "X-Forwarded-Client-Cert"
    /// The certificate, RFC 9440 §2.2.
    case certificate = "Client-Cert"
    /// The certificates between it and the trusted one, RFC 9440 §2.3.
    case chain = "Client-Cert-Chain"
}
