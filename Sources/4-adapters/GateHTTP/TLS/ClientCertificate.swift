// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import NIOCore
internal import SwiftASN1
internal import Synchronization

/// A certificate of a client that was verified.
package final class ClientCertificate: Sendable {
    /// What rules look at.
    package let facts: CertificateFacts
    /// The subject as text, in visible ASCII.
    package let subject: String
    /// The certificate in DER.
    package let bytes: [UInt8]
    /// The certificates between it and the trusted one that the client presented, in DER.
    package let intermediates: [[UInt8]]
    /// The lines that apps got, by their headers.
    private let known = Mutex<[[CertificateHeader]: ByteBuffer]>([:])

    /// The field lines with which an app gets it in some headers.
    package func lines(_ headers: [CertificateHeader]) -> ByteBuffer {
        self.known.withLock { known in
            if let lines = known[headers] { return lines }
            let lines = CertificateLines(of: self).lines(headers)
            known[headers] = lines
            return lines
        }
    }

    /// What was verified; nil if a name in it cannot be read.
    init?(_ verification: CertificateAuthority.Verification, of chain: [[UInt8]]) {
        guard verification.verdict == nil, let own = chain.first,
            let subject = CertificateName(verification.subject), let issuer = CertificateName(verification.issuer),
            let names = ClientCertificate.names(in: own)
        else { return nil }
        self.facts = CertificateFacts(
            subject: subject,
            issuer: issuer,
            names: names,
            fingerprint: verification.fingerprint.map { byte in
                byte < 16 ? "0\(String(byte, radix: 16))" : String(byte, radix: 16)
            }.joined()
        )
        self.subject = verification.subject
        self.bytes = own
        self.intermediates = verification.intermediates.filter(chain.indices.contains).map { chain[$0] }
    }

    /// How many alternative names a certificate may have.
    private static let maxNames = 256

    /// The alternative names of a certificate with their kinds; nil if one of them cannot be read.
    ///
    /// A name that were left out could not be denied, so a certificate with such a name is not accepted at all.
    static func names(in certificate: [UInt8]) -> [String]? {
        guard let nodes = try? CertificateFields(certificate).alternativeNames, nodes.count <= self.maxNames else {
            return nil
        }
        var names: [String] = []
        for node in nodes where [1, 2, 6, 7].contains(node.identifier.tagNumber) {
            guard case .primitive(let bytes) = node.content, let name = self.name(node.identifier.tagNumber, bytes)
            else { return nil }
            names.append(name)
        }
        return names
    }

    private static func name(_ tag: UInt, _ bytes: ArraySlice<UInt8>) -> String? {
        if tag == 7 { return IPAddress(packed: Array(bytes)).map { "ip:\($0.text)" } }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let kind = tag == 1 ? "email" : tag == 2 ? "dns" : "uri"
        return CertificateFacts.name("\(kind):\(String(decoding: bytes, as: UTF8.self))")
    }
}

/// What is known of the certificate of a client.
package enum CertificateStatus: Sendable {
    /// The client presented none.
    case missing
    /// It was verified.
    case verified(ClientCertificate)
    /// It was presented, and could not be verified for a reason, with what the library reports.
    case rejected(CertificateRejection, detail: String)

    /// The certificate, if it was verified.
    package var certificate: ClientCertificate? {
        guard case .verified(let certificate) = self else { return nil }
        return certificate
    }
}
