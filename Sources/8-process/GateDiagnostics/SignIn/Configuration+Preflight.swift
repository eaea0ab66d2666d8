// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
package import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateOperations
internal import GateProviders

// Makes what a start would make of providers and certificates, without any connection.
extension Configuration {
    /// What is wrong with the certificates and keys of the listeners, and with those that providers see, each with the file of the
    /// key.
    package var certificateFailures: [(keyFile: String, failure: Failure)] {
        let shown = self.providers.compactMap(\.shownCertificate)
        return (self.gateway.listeners.flatMap(\.certificates) + shown).compactMap { files in
            do throws(Failure) {
                _ = try TLSIdentity(certificateFile: files.certificate, keyFile: files.privateKey)
                return nil
            } catch {
                return (files.privateKey, error)
            }
        }
    }

    /// What clients will not accept about the certificates of the listeners, or soon will not.
    ///
    /// - Returns: Each with whether it makes the configuration unusable; files that cannot be read are left out.
    package func certificateRemarks(at now: Instant) -> [(isFatal: Bool, text: String)] {
        self.gateway.listeners.flatMap { listener -> [CertificateFinding] in
            let certificates = listener.certificates.compactMap {
                files -> (file: String, certificate: ServerCertificate)? in
                let identity = try? TLSIdentity(certificateFile: files.certificate, keyFile: files.privateKey)
                return identity.map { (files.certificate, $0.certificate) }
            }
            guard certificates.count == listener.certificates.count else { return [] }
            let found = ListenerCertificates(address: "\(listener.address)", certificates: certificates)
            return CertificateFinding.all(of: found, serving: self.hosts, at: now)
        }.map { ($0.isFatal, $0.text) }
    }

    /// From when on a certificate that providers see should be renewed.
    private static let shownRemainder = Duration.seconds(30 * 86_400)

    /// The certificates that providers see and will not accept, or soon will not.
    ///
    /// - Returns: Each with whether sign-ins fail now; files that cannot be read are left out.
    package func shownCertificateRemarks(at now: Instant) -> [(isFatal: Bool, text: String)] {
        self.providers.compactMap { settings in
            guard let files = settings.shownCertificate,
                let identity = try? TLSIdentity(certificateFile: files.certificate, keyFile: files.privateKey)
            else { return nil }
            let subject = "provider '\(settings.id)': the certificate \(files.certificate) of 'tls'"
            let (start, end) = (identity.certificate.notBefore, identity.certificate.notAfter)
            if end <= now { return (true, "\(subject) expired on \(end.date); renew it") }
            if start > now { return (true, "\(subject) is not valid before \(start.date); check the clock") }
            guard end.since(now) < Self.shownRemainder else { return nil }
            return (false, "\(subject) expires on \(end.date), in \(end.days(from: now)) days; renew it")
        }
    }

    /// What is wrong with the files of `client_certificates`, each with whether it makes the configuration unusable.
    package func clientCertificateRemarks(at now: Instant) -> [(isFatal: Bool, text: String)] {
        self.gateway.listeners.flatMap { listener -> [(isFatal: Bool, text: String)] in
            guard let settings = listener.clientCertificates else { return [] }
            do throws(Failure) {
                let authority = try ClientCertificatePolicy(settings).authority
                let found = authority.findings(at: now, of: settings)
                return found.map { ($0.isFatal, "listener \(listener.address), client_certificates: \($0.text)") }
            } catch {
                return [(true, error.detail)]
            }
        }
    }

    /// The pin sets that have expired, each with what follows; known only at the time of asking.
    package func expiredPins(at now: Instant) -> [String] {
        self.providers.flatMap { settings in
            (settings.pins?.all ?? []).compactMap { host, set in
                set.expiryRemark(now: now).map {
                    "provider '\(settings.id)'\(host.map { ", \($0)" } ?? ""): \($0)"
                }
            }
        }
    }

    /// What is wrong with a provider that only shows when it is put to use, such as a private key of the wrong kind.
    package var providerFailures: [(provider: String, failure: Failure)] {
        let local = self.providers.filter { $0.type == .local }
            .compactMap { settings in settings.local.fileFailure.map { (settings.id, $0) } }
        return local
            + self.servers.compactMap { settings in
                do throws(Failure) {
                    _ = try RelyingParty(
                        definition: try ProviderDefinition(settings),
                        settings: settings,
                        redirectURI: self.gateway.callback(of: settings.id),
                        transport: NoTransport(),
                        clock: .system,
                        random: .system
                    )
                    return nil
                } catch {
                    return (settings.id, error)
                }
            }
    }
}

extension CertificateAuthority {
    /// What there is to report of the certificates and lists.
    fileprivate func findings(
        at now: Instant,
        of settings: ClientCertificateSettings
    ) -> [(isFatal: Bool, text: String)] {
        var found: [(isFatal: Bool, text: String)] = []
        for entry in self.certificates {
            if entry.from > now { found.append((false, "'\(entry.name)' is not valid before \(entry.from.date)")) }
            guard let until = entry.until, until <= now else { continue }
            found.append(
                (false, "'\(entry.name)' expired on \(until.date), so no certificate of it is accepted; replace it")
            )
        }
        for entry in self.lists {
            let list = "the revocation list of '\(entry.name)'"
            switch entry.isSigned {
            case false?: found.append((true, "'\(entry.name)' in 'ca_file' has not signed \(list)"))
            case nil:
                let help = "it counts only for an authority that clients send with their certificates"
                found.append((false, "the revocation list of '\(entry.name)' is of no authority in 'ca_file'; \(help)"))
            case true?: break
            }
            guard let until = entry.until, until <= now else { continue }
            found.append(
                (false, "\(list) expired on \(until.date), so no certificate of it is accepted; replace the file")
            )
        }
        guard !settings.listFiles.isEmpty else { return found }
        for entry in self.certificates where !self.lists.contains(where: { $0.name == entry.name }) {
            let reason = "'crl_files' has no revocation list of '\(entry.name)', so no certificate of it is accepted"
            found.append((false, "\(reason); add the file"))
        }
        return found
    }
}

/// A transport that makes no calls.
private struct NoTransport: ProviderTransport {
    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        throw Failure(.transportNoResources, "no provider is called here")
    }
}
