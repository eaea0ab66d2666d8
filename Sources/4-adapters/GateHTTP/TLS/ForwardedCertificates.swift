// SPDX-License-Identifier: Apache-2.0

package import GateWire
internal import NIOCore
internal import Synchronization

/// Reads the certificates that trusted proxies write into a header, and keeps the latest.
package final class ForwardedCertificates: Sendable {
    /// What a request brings.
    package enum Found: Sendable {
        /// The client has no certificate.
        case none
        /// It was read, and is to be verified.
        case certificate(PresentedCertificate)
        /// It is there in another form, more than once, or in another spelling of the name.
        case malformed(String)
    }

    private static let maxKnown = 256

    private let form: CertificateForm
    private let names: [String]
    private let known = Mutex<[[UInt8]: PresentedCertificate]>([:])

    /// Reads a form from a header.
    init(_ form: CertificateForm, in header: String) {
        self.form = form
        self.names = [header.lowercased(), form.chainHeader?.lowercased()].compactMap(\.self)
    }

    /// The certificate in the head of a request from a trusted proxy.
    package func certificate(in message: MessageHead) -> Found {
        var values: [[UInt8]?] = []
        for name in self.names {
            let lines = message.fields.filter { FieldSpelling.isReadAs(name, message.text($0.nameRange)) }
            guard lines.count <= 1 else { return .malformed("'\(name)' is there \(lines.count) times") }
            guard lines.allSatisfy({ message.spells($0.nameRange, name) }) else {
                return .malformed("'\(name)' is there in another spelling")
            }
            values.append(lines.first.map { Array(message.slice($0.valueRange)) })
        }
        guard let value = values[0], !value.isEmpty else { return .none }
        let chain = values.dropFirst().compactMap(\.self).first { !$0.isEmpty }
        let key = value + [0] + (chain ?? [])
        if let known = self.known.withLock({ $0[key] }) { return .certificate(known) }
        do throws(CertificateForm.Malformed) {
            let own = try self.form.certificates(in: value)
            guard !own.isEmpty else { return .none }
            let rest = try chain.map { chain throws(CertificateForm.Malformed) in try CertificateForm.chain(in: chain) }
            let presented = PresentedCertificate(own + (rest ?? []))
            self.known.withLock { known in
                if known.count >= ForwardedCertificates.maxKnown { known.removeAll() }
                known[key] = presented
            }
            return .certificate(presented)
        } catch {
            return .malformed("'\(self.names[0])': \(error.words)")
        }
    }
}
