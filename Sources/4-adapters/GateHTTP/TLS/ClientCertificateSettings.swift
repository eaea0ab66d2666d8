// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which certificates clients of a listener present, and for which hosts.
package struct ClientCertificateSettings: Sendable, Hashable {
    /// What happens to a request without a certificate that is verified.
    package enum Mode: String, Sendable, CaseIterable {
        /// It goes on; only rules decide.
        case request
        /// It is rejected.
        case require
    }

    /// The PEM file of the authorities that are trusted.
    package var authorityFile: String
    /// What happens to a request without a certificate.
    package var mode = Mode.request
    /// The hosts; empty for all.
    package var hosts: [HostPattern] = []
    /// The files of revocation lists; empty if revocation is not checked.
    package var listFiles: [String] = []
    /// How a trusted proxy passes the certificate of its client on; nil if clients present it to the listener.
    package var header: Header?

    /// A header in which a trusted proxy writes the certificate.
    package struct Header: Sendable, Hashable {
        package let form: CertificateForm
        package let name: String

        /// A form under a name.
        package init(form: CertificateForm, name: String) {
            (self.form, self.name) = (form, name)
        }
    }

    /// The certificates of some authorities, for all hosts.
    package init(authorityFile: String) {
        self.authorityFile = authorityFile
    }

    /// Whether they are for a host in normal form.
    package func includes(_ host: String) -> Bool {
        self.hosts.isEmpty || self.hosts.contains { $0.matches(host) }
    }
}
