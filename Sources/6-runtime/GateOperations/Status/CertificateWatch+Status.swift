// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP

extension CertificateWatch {
    /// The certificates and what there is to report of them, as `/status` shows them.
    package var listenerStatus: [GatewayStatus.Listener] {
        let (now, listeners, findings) = self.report
        return listeners.map { listener in
            var status = GatewayStatus.Listener(listener.address)
            status.certificates = listener.certificates.map { file, certificate in
                GatewayStatus.Listener.Certificate(
                    file: file,
                    notAfter: certificate.notAfter,
                    daysLeft: certificate.notAfter.days(from: now)
                )
            }
            status.revocationLists = listener.listEnds.map { issuer, end in
                GatewayStatus.Listener.RevocationList(issuer: issuer, notAfter: end, daysLeft: end.days(from: now))
            }
            status.findings = findings.filter { $0.listener == listener.address }
            return status
        }
    }
}
