// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateRuntime
internal import GateWire

/// What the certificate of the client means for one request for a host that asks for one.
final class RequestCertificate {
    /// Why the request is rejected, whatever the rules are; nil if it is not.
    let failure: Failure?
    /// The certificate of the client, if it was verified.
    let verified: ClientCertificate?
    /// Why the certificate that came was not accepted, for the log; nil if none came or it was.
    let rejection: String?

    fileprivate init(failure: Failure?, verified: ClientCertificate? = nil, rejection: String? = nil) {
        self.failure = failure
        self.verified = verified
        self.rejection = rejection
    }

    /// What a status means under a policy.
    fileprivate convenience init(
        _ status: CertificateStatus,
        of host: String,
        under policy: ClientCertificatePolicy,
        isOfProxy: Bool
    ) {
        let isRequired = policy.settings.mode == .require
        switch status {
        case .verified(let certificate): self.init(failure: nil, verified: isOfProxy ? nil : certificate)
        case .missing:
            let detail = "\(host) requires a certificate of the client, and none came"
            self.init(failure: isRequired ? Failure(.clientCertificateMissing, detail) : nil)
        case .rejected(let rejection, let detail):
            let why = "the certificate of the client is not accepted: \(rejection.words) (\(detail))"
            self.init(failure: isRequired ? Failure(.clientCertificateRejected, why) : nil, rejection: why)
        }
    }
}

/// Where the certificate of the clients of one connection comes from.
struct CertificateSource {
    /// The address of the listener; nil if it is not known.
    let listener: BindAddress?
    /// The policy of the listener when it accepted the connection.
    let accepted: ClientCertificatePolicy?
    /// What TLS has negotiated; nil for a plain connection.
    let tls: NegotiatedTLS?

    /// The policy in force; nil if nothing asks for certificates here.
    func policy(in runtime: RuntimeConfiguration) -> ClientCertificatePolicy? {
        runtime.front.clientCertificates(at: self.listener, otherwise: self.accepted)
    }

    /// What the certificate of the client means for a request; nil if its host asks for none.
    ///
    /// - Parameters:
    ///   - request: The request, or the one that a proxy asks about.
    ///   - policy: The policy in force.
    ///   - peer: Who sent it.
    ///   - now: The time.
    /// - Returns: What it means.
    func certificate(
        of request: RequestHead,
        under policy: ClientCertificatePolicy,
        from peer: Peer,
        at now: Instant
    ) -> RequestCertificate? {
        let host = request.authority.host
        guard policy.settings.includes(host) else { return nil }
        if let forwarded = policy.forwarded {
            guard peer.isTrusted else { return RequestCertificate(.missing, of: host, under: policy, isOfProxy: false) }
            switch forwarded.certificate(in: (peer.asking ?? request).message) {
            case .none: return RequestCertificate(.missing, of: host, under: policy, isOfProxy: false)
            case .malformed(let why): return RequestCertificate(failure: Failure(.clientCertificateHeader, why))
            case .certificate(let presented):
                let status = presented.status(by: policy.authority, at: now)
                return RequestCertificate(status, of: host, under: policy, isOfProxy: false)
            }
        }
        guard let presented = self.tls?.clientCertificate else {
            // The connection of a proxy that asks is not that of the client.
            guard peer.asking == nil else {
                return RequestCertificate(.missing, of: host, under: policy, isOfProxy: true)
            }
            let name = self.tls?.serverName ?? "no host"
            let detail =
                "the connection was made for \(name), where clients present no certificate, and not for \(host)"
            return RequestCertificate(failure: Failure(.requestMisdirected, detail))
        }
        let status = presented.status(by: policy.authority, at: now)
        return RequestCertificate(status, of: host, under: policy, isOfProxy: peer.isTrusted || peer.asking != nil)
    }

    /// Whether a new connection for a host may have the certificate that this one lacks: it was made for that host, or for none.
    func mayLackCertificate(for host: String) -> Bool {
        guard let tls else { return false }
        return tls.serverName.map { $0 == host } ?? true
    }

    /// Who sends a request over the connection.
    struct Peer {
        /// Whether it is a trusted proxy: a certificate of the connection is its own, and counts only for it.
        let isTrusted: Bool
        /// The request of a proxy that asks for a decision on one of a client; nil for the client's own.
        ///
        /// It has the header with the certificate, which is removed from what the proxy asks about.
        let asking: RequestHead?
    }
}
