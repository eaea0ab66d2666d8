// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID

/// One certificate of the chain that a provider's name was verified with.
package struct ProviderCertificate: Sendable, Hashable {
    /// Whose certificate it is, as RFC 2253 writes names: visible ASCII only.
    package let subject: String
    /// Who signed it, in the same form.
    package let issuer: String
    /// When it begins to be valid.
    package let notBefore: Instant
    /// When it ceases to be valid.
    package let notAfter: Instant
    /// SHA-256 over the SubjectPublicKeyInfo.
    ///
    /// RFC 7469 §2.4.
    package let publicKeyPin: Pin?
    /// SHA-256 over the certificate.
    package let certificatePin: Pin?

    /// The subject, or words for none.
    package var name: String { self.subject.isEmpty ? "a certificate without subject" : self.subject }

    /// Describes a certificate.
    package init(
        subject: String,
        issuer: String,
        notBefore: Instant,
        notAfter: Instant,
        publicKeyPin: Pin? = nil,
        certificatePin: Pin? = nil
    ) {
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.publicKeyPin = publicKeyPin
        self.certificatePin = certificatePin
    }
}

/// The certificates and the response head of a provider's host.
package struct HostProbe: Sendable {
    /// The chain as verified, leaf first and trusted root last, at most 10; empty over plain http.
    package let certificates: [ProviderCertificate]
    /// The head of its response to `HEAD /`, whatever the status; nil without a response in time.
    package let response: ProviderResponse?

    /// Puts the parts together.
    package init(certificates: [ProviderCertificate], response: ProviderResponse?) {
        self.certificates = certificates
        self.response = response
    }
}
