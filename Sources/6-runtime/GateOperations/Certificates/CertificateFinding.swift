// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP

/// Something about a listener's own certificate because of which clients reject it, or about a revocation list because of which
/// the listener rejects clients; now or soon.
package struct CertificateFinding: Sendable, Hashable {
    /// What it is.
    enum Name: Sendable, CaseIterable {
        /// The end of validity has passed.
        case expired
        /// The end of validity is near.
        case expiring
        /// The start of validity is in the future.
        case notYetValid
        /// No certificate of the listener is for a host that it serves.
        case wrongHost
        /// The key is too short, or the signature uses a broken hash.
        case weak
        /// Its purposes do not include servers.
        case wrongPurpose
        /// A revocation list should have been replaced.
        case listExpired
        /// A revocation list should be replaced soon.
        case listExpiring

        /// The name in logs, `/status` and metrics.
        var code: String {
            switch self {
            case .expired: Failure.Reason.certificateExpired.code
            case .expiring: Failure.Reason.certificateExpiring.code
            case .notYetValid: Failure.Reason.certificateNotYetValid.code
            case .wrongHost: Failure.Reason.certificateWrongHost.code
            case .weak: Failure.Reason.certificateWeak.code
            case .wrongPurpose: Failure.Reason.certificateWrongPurpose.code
            case .listExpired: Failure.Reason.revocationListExpired.code
            case .listExpiring: Failure.Reason.revocationListExpiring.code
            }
        }
    }

    /// What it is.
    let name: Name
    /// How urgent it is.
    let severity: SecurityEvent.Severity
    /// The address of the listener.
    let listener: String
    /// The file of the certificate; nil if it concerns all of the listener's, or a revocation list.
    let file: String?
    /// What is wrong and what to do, in one line.
    let detail: String

    /// Whether no client accepts the certificate now.
    package var isFatal: Bool { self.name == .expired || self.name == .notYetValid }

    /// The finding as `check` prints it.
    package var text: String { "listener \(self.listener): \(self.file.map { "\($0) " } ?? "")\(self.detail)" }
}

extension CertificateFinding {
    /// What there is to report of the certificates of a listener.
    ///
    /// - Parameters:
    ///   - listener: The listener.
    ///   - hosts: The hosts that it serves, the gateway's own first.
    ///   - now: The time.
    /// - Returns: The findings, certificate by certificate, then those of the whole listener and of its revocation lists.
    package static func all(
        of listener: ListenerCertificates,
        serving hosts: [String],
        at now: Instant
    ) -> [CertificateFinding] {
        let ofLists = self.ofLists(listener, at: now)
        guard !listener.certificates.isEmpty else { return ofLists }
        var findings: [CertificateFinding] = []
        for (file, certificate) in listener.certificates {
            let found = self.time(of: certificate, at: now) + self.strength(of: certificate)
            findings += found.map { name, severity, detail in
                CertificateFinding(
                    name: name,
                    severity: severity,
                    listener: listener.address,
                    file: file,
                    detail: detail
                )
            }
        }
        let uncovered = hosts.filter { host in !listener.certificates.contains { $0.certificate.covers(host) } }
        guard !uncovered.isEmpty else { return findings + ofLists }
        let shown = uncovered.prefix(5).joined(separator: ", ") + (uncovered.count > 5 ? ", …" : "")
        let finding = CertificateFinding(
            name: .wrongHost,
            severity: .warning,
            listener: listener.address,
            file: nil,
            detail: "no certificate is for \(shown), so browsers reject the connection; add one under 'tls'"
        )
        return findings + [finding] + ofLists
    }

    private static func ofLists(_ listener: ListenerCertificates, at now: Instant) -> [CertificateFinding] {
        listener.revocationLists.compactMap { list in
            guard let end = list.until else { return nil }
            let (name, severity, detail): Part
            if end <= now {
                let effect = "so no certificate of it is accepted"
                detail = "the revocation list of '\(list.name)' expired on \(end.date), \(effect); replace the file"
                (name, severity) = (.listExpired, .critical)
            } else if end.since(now) < self.remainder(of: end.since(list.from)) {
                let help = "fetch the next one; the file is read again when it changes"
                detail = "the revocation list of '\(list.name)' expires at \(end.date), and was not replaced; \(help)"
                (name, severity) = (.listExpiring, .warning)
            } else {
                return nil
            }
            return CertificateFinding(
                name: name,
                severity: severity,
                listener: listener.address,
                file: nil,
                detail: detail
            )
        }
    }

    /// How much of the life of a list is left once it is late: authorities publish the next one long before.
    private static func remainder(of life: Duration) -> Duration { min(life / 4, .seconds(3 * 86_400)) }

    private typealias Part = (Name, SecurityEvent.Severity, String)

    private static func time(of certificate: ServerCertificate, at now: Instant) -> [Part] {
        let help = "renew it; the file is read again when it changes"
        guard certificate.notBefore <= now else {
            let detail = "is not valid before \(certificate.notBefore.date); look at the clock of this machine"
            return [(.notYetValid, .critical, detail)]
        }
        guard now < certificate.notAfter else {
            return [(.expired, .critical, "expired on \(certificate.notAfter.date), so clients reject it; \(help)")]
        }
        let life = certificate.notAfter.since(certificate.notBefore)
        guard let severity = SecurityEvent.Severity(of: certificate.notAfter, life: life, at: now) else { return [] }
        return [(.expiring, severity, "expires on \(certificate.notAfter.date); \(help)")]
    }

    private static func strength(of certificate: ServerCertificate) -> [Part] {
        var parts: [Part] = []
        let help = "have one issued for a key on P-256, or RSA with 2048 bits"
        switch certificate.key {
        case .rsa(let bits) where bits < 2048:
            parts.append((.weak, .warning, "has an RSA key of \(bits) bits, which clients reject; \(help)"))
        case .other:
            parts.append((.weak, .warning, "has a key of a kind that few clients accept; \(help)"))
        case .rsa, .ecdsa: break
        }
        if certificate.hasWeakSignature {
            parts.append((.weak, .warning, "is signed with SHA-1 or MD5, which clients reject; have it issued again"))
        }
        if !certificate.isForServers {
            let detail = "is not for servers: its extended key usage lacks serverAuth; have it issued again"
            parts.append((.wrongPurpose, .warning, detail))
        }
        return parts
    }
}

/// The certificates of one listener, and the revocation lists for those of its clients.
package struct ListenerCertificates: Sendable {
    let address: String
    let certificates: [(file: String, certificate: ServerCertificate)]
    let revocationLists: [CertificateAuthority.Entry]
    /// Whether there is nothing that can expire.
    var isEmpty: Bool { self.certificates.isEmpty && self.revocationLists.isEmpty }

    /// The certificates of the listener at an address.
    package init(
        address: String,
        certificates: [(file: String, certificate: ServerCertificate)],
        revocationLists: [CertificateAuthority.Entry] = []
    ) {
        self.address = address
        self.certificates = certificates
        self.revocationLists = revocationLists
    }

    /// When the lists of each issuer expire, the earliest of each.
    var listEnds: [(issuer: String, end: Instant)] {
        let ends = Dictionary(
            self.revocationLists.compactMap { list in list.until.map { (list.name, $0) } },
            uniquingKeysWith: min
        )
        return ends.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
