// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOSSL

/// The certificates that clients of a listener present, with the files of the settings read.
package final class ClientCertificatePolicy: Sendable {
    package let settings: ClientCertificateSettings
    /// What verifies them.
    package let authority: CertificateAuthority
    /// The trusted certificates, whose names a handshake sends to clients.
    let trusted: [NIOSSLCertificate]
    /// Reads certificates from a header of a trusted proxy; nil if clients present them to the listener.
    package let forwarded: ForwardedCertificates?

    /// How many bytes a file of revocation lists may have.
    package static let maxListFile = 16 << 20
    private static let maxAuthorityFile = 1 << 20

    /// Reads the files of the settings.
    ///
    /// - Throws: `client_certificate.files` with the file that cannot be used.
    package init(_ settings: ClientCertificateSettings) throws(Failure) {
        self.settings = settings
        self.forwarded = settings.header.map { ForwardedCertificates($0.form, in: $0.name) }
        let authorities = try ClientCertificatePolicy.read(settings.authorityFile, upTo: Self.maxAuthorityFile)
        var lists: [(file: String, bytes: [UInt8])] = []
        for file in settings.listFiles {
            lists.append((file, try ClientCertificatePolicy.read(file, upTo: Self.maxListFile)))
        }
        self.authority = try CertificateAuthority(certificates: (settings.authorityFile, authorities), lists: lists)
        do {
            self.trusted = try NIOSSLCertificate.fromPEMBytes(authorities)
        } catch {
            throw Failure(.clientCertificateFiles, "\(settings.authorityFile) holds no PEM certificate: \(error)")
        }
    }

    private static func read(_ file: String, upTo limit: Int) throws(Failure) -> [UInt8] {
        guard case .bytes(let bytes) = FileAccess.system.read(file, limit: limit) else {
            throw Failure(.clientCertificateFiles, "\(file) cannot be read, or is larger than \(limit >> 20) MiB")
        }
        return bytes
    }

    /// Whether the handshake of a connection asks for a certificate, by the server name of the client.
    ///
    /// Browsers ask their users when it does, so it asks for the hosts only.
    func isAsked(byClientOf serverName: String?) -> Bool {
        guard self.forwarded == nil else { return false }
        return self.settings.hosts.isEmpty || serverName.map(self.settings.includes) ?? false
    }

    /// The names of the authorities, for pages and messages; at most so many as a page can show.
    package var issuers: [String] { self.authority.certificates.map(\.name) }
}
