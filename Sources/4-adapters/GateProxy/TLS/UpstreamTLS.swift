// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
package import GateCore
internal import NIOCore
internal import NIOSSL

/// The certificates that the connections of an upstream trust and present, read once with the configuration.
///
/// Equal if the same was read, so that a reload that changes nothing keeps the connections.
package final class UpstreamTLS: Sendable, Hashable {
    /// The files and names, as the configuration gives them.
    package struct Settings: Sendable, Hashable {
        /// The file of the only certificates to trust; nil for those of the system.
        package var caFile: String?
        /// The certificate that is presented, with its key; nil for none.
        package var certificate: CertificateFiles?
        /// The server name (SNI) that the certificate must have, in the form of `Origin.host`; nil for the target's host.
        package var serverName: String?
        /// The pins of the target; nil for none.
        package var pins: PinSet?
        /// Whether the handshake offers HTTP by ALPN; servers of other protocols may reject that.
        package var offersHTTP = true

        /// The certificates of the system, no client certificate, no pins.
        package init() {}
    }

    /// The name that is asked for and checked; nil for the target's host.
    let serverName: String?
    /// The keys that are accepted.
    package let pins: PinSet?
    private let http1: NIOSSLContext
    private let http2: NIOSSLContext
    private let fingerprint: [UInt8]

    /// Reads the files.
    ///
    /// - Throws: A `Failure` naming the file and what is wrong with it.
    package init(_ settings: Settings) throws(Failure) {
        var hash = SHA256()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.renegotiationSupport = .none
        configuration.certificateVerification = .fullVerification
        if let file = settings.caFile {
            configuration.trustRoots = .certificates(try UpstreamTLS.certificates(file, &hash))
        }
        if let files = settings.certificate {
            configuration.certificateChain = try UpstreamTLS.certificates(files.certificate, &hash).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(try UpstreamTLS.key(files.privateKey, &hash))
        }
        self.serverName = settings.serverName
        self.pins = settings.pins
        self.http1 = try UpstreamTLS.context(configuration, "http/1.1", settings)
        self.http2 = try UpstreamTLS.context(configuration, "h2", settings)
        self.fingerprint = Array(hash.finalize())
    }

    /// The context for a protocol.
    func context(isHTTP2: Bool) -> NIOSSLContext { isHTTP2 ? self.http2 : self.http1 }

    /// Whether the same was read.
    package static func == (left: UpstreamTLS, right: UpstreamTLS) -> Bool {
        left.fingerprint == right.fingerprint && left.serverName == right.serverName && left.pins == right.pins
    }

    /// What is equal has the same hash.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.fingerprint)
        hasher.combine(self.serverName)
        hasher.combine(self.pins)
    }

    private static func context(
        _ configuration: TLSConfiguration,
        _ protocolName: String,
        _ settings: Settings
    ) throws(Failure) -> NIOSSLContext {
        var configuration = configuration
        if settings.offersHTTP { configuration.applicationProtocols = [protocolName] }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            let files = "\(settings.certificate?.privateKey ?? "-") and \(settings.certificate?.certificate ?? "-")"
            throw Failure(.tlsKeyMismatch, "\(files) do not belong together: \(error)")
        }
    }

    private static func certificates(_ file: String, _ hash: inout SHA256) throws(Failure) -> [NIOSSLCertificate] {
        let bytes = try UpstreamTLS.bytes(file, &hash)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), !chain.isEmpty else {
            throw Failure(.tlsCertificateUnreadable, "\(file) holds no PEM certificate")
        }
        return chain
    }

    private static func key(_ file: String, _ hash: inout SHA256) throws(Failure) -> NIOSSLPrivateKey {
        let bytes = try UpstreamTLS.bytes(file, &hash)
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
            throw Failure(.tlsKeyUnreadable, "\(file) holds no PEM private key")
        }
        return key
    }

    private static func bytes(_ file: String, _ hash: inout SHA256) throws(Failure) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw Failure(.tlsCertificateUnreadable, "\(file) cannot be read")
        }
        let bytes = [UInt8](data)
        hash.update(data: UpstreamTLS.length(of: bytes))
        hash.update(data: bytes)
        return bytes
    }

    /// The length of a part, so that the same bytes parted otherwise have another hash.
    private static func length(of bytes: [UInt8]) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) }
    }
}
