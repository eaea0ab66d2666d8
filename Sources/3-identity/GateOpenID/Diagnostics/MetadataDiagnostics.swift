// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
package import GateProviders

/// The result of ``MetadataDiagnostics``, for `gatehouse check --online`.
package struct ProviderFindings: Sendable {
    /// The URL of the discovery document; nil for a provider without one.
    package var discovery: WebURL?
    /// The document; nil if it is absent or cannot be read.
    package var document: JSON?
    /// The endpoints, or why they cannot be used; without PKCE and client authentication.
    package var endpoints: Result<Endpoints, Failure>
    /// Why sign-ins fail because of PKCE although the endpoints are valid; nil if they do not.
    package var challengeFailure: Failure?
    /// The client authentication method, or why no method fits; nil without endpoints.
    package var clientAuthentication: Result<ProviderDefinition.ClientAuthentication, Failure>?
    /// The usable keys; nil if there is no URL of a key set.
    package var keys: Result<KeyFindings, Failure>?

    /// What the code flow takes from the metadata.
    package struct Endpoints: Sendable, Equatable {
        /// The issuer as the provider spells it.
        package let issuer: String
        /// Where the browser goes.
        package let authorization: WebURL
        /// Where the gateway itself calls: token endpoint first, then keys, userinfo and pushed requests.
        package let called: [WebURL]
        /// Whether each callback has to carry `iss`; RFC 9207 §2.3.
        package let requiresCallbackIssuer: Bool

        init(_ metadata: ProviderMetadata) {
            self.issuer = metadata.issuer
            self.authorization = metadata.authorization
            let others = [metadata.keys, metadata.userinfo, metadata.pushedAuthorization]
            self.called = [metadata.token] + others.compactMap { $0 }
            self.requiresCallbackIssuer = metadata.requiresCallbackIssuer
        }
    }
}

/// The usable and rejected keys of a key set.
package struct KeyFindings: Sendable, Equatable {
    /// How many keys can verify tokens of this provider.
    package var usable = 0
    /// The algorithms of those keys, in alphabetical order.
    package var algorithms: [String] = []
    /// Why other keys for signatures are rejected, each with the key's name.
    package var rejected: [String] = []
    /// How many keys are for something else, such as encryption.
    package var forOtherUse = 0
    /// The names that several usable keys have, quoted; a token of that name is tried with each that fits its algorithm.
    package var repeatedNames: [String] = []

    init(_ document: JSON, of definition: ProviderDefinition) {
        var algorithms: Set<String> = []
        var names: [String: Int] = [:]
        for json in (document["keys"]?.array ?? []).prefix(KeySet.maxCount) {
            let key = JSONWebKey(json)
            let fitting = key.map { key in definition.signatureAlgorithms.filter { key.fits($0) } }
            if let fitting, !fitting.isEmpty {
                self.usable += 1
                if let id = key?.id { names[id, default: 0] += 1 }
                algorithms.formUnion(fitting.map(\.rawValue))
            } else if JSONWebKey.isForSignatures(json) {
                self.rejected.append(JSONWebKey.reason(against: json))
            } else {
                self.forOtherUse += 1
            }
        }
        self.algorithms = algorithms.sorted()
        self.repeatedNames = names.filter { $0.value > 1 }.keys.sorted().map { ReceivedText.quoted($0.prefix(64)) }
    }
}

/// Fetches and checks the metadata and keys of a provider, without secrets and without caching anything.
package struct MetadataDiagnostics: Sendable {
    let definition: ProviderDefinition
    let call: ProviderCall
    let clock: WallClock
    let clientAuthentication: ClientAuthenticationChoice

    /// Fetches the documents and checks them as a sign-in would.
    package func findings() async -> ProviderFindings {
        guard case .openID(let address) = self.definition.signIn else { return self.fixedFindings() }
        do throws(Failure) {
            let document = try await self.call.document(at: address, limit: 262_144).json
            return await self.findings(in: document, at: address)
        } catch {
            return ProviderFindings(discovery: address, endpoints: .failure(error))
        }
    }

    /// Accepted by every provider, so that failures of the client authentication are reported separately.
    private var anyAuthentication: ClientAuthenticationChoice {
        ClientAuthenticationChoice(wanted: .secretBasic, hasCertificate: self.clientAuthentication.hasCertificate)
    }

    private func fixedFindings() -> ProviderFindings {
        guard case .oauth2(let endpoints) = self.definition.signIn else {
            let failure = Failure(.openIDEndpointsMissing, "no endpoints for this provider")
            return ProviderFindings(endpoints: .failure(failure))
        }
        let read = { (choice: ClientAuthenticationChoice) throws(Failure) in
            try ProviderMetadata(endpoints, of: self.definition, choice)
        }
        return self.findings(read)
    }

    private func findings(in document: JSON, at address: WebURL) async -> ProviderFindings {
        var members = document.object ?? [:]
        members["code_challenge_methods_supported"] = nil
        let withoutMethods = JSON.object(members)
        let read = { (choice: ClientAuthenticationChoice) throws(Failure) in
            try ProviderMetadata(withoutMethods, of: self.definition, choice)
        }
        var findings = self.findings(read)
        findings.discovery = address
        findings.document = document
        guard case .success = findings.endpoints else { return findings }
        findings.challengeFailure = self.failure { () throws(Failure) in
            _ = try ProviderMetadata(document, of: self.definition, self.anyAuthentication)
        }
        guard !self.definition.usesSecretForTokens else { return findings }
        findings.keys = await self.keyFindings(at: (try? read(self.anyAuthentication))?.keys)
        return findings
    }

    private func findings(
        _ read: (ClientAuthenticationChoice) throws(Failure) -> ProviderMetadata
    ) -> ProviderFindings {
        do throws(Failure) {
            let endpoints = ProviderFindings.Endpoints(try read(self.anyAuthentication))
            var findings = ProviderFindings(endpoints: .success(endpoints))
            do throws(Failure) {
                findings.clientAuthentication = .success(try read(self.clientAuthentication).clientAuthentication)
            } catch {
                findings.clientAuthentication = .failure(error)
            }
            return findings
        } catch {
            return ProviderFindings(endpoints: .failure(error))
        }
    }

    private func failure(of body: () throws(Failure) -> Void) -> Failure? {
        do throws(Failure) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    private func keyFindings(at address: WebURL?) async -> Result<KeyFindings, Failure>? {
        guard let address else { return nil }
        do throws(Failure) {
            let document = try await self.call.document(at: address, limit: 524_288).json
            let findings = KeyFindings(document, of: self.definition)
            let failure = self.failure { () throws(Failure) in _ = try KeySet(document, at: self.clock.now) }
            // If no key is usable, the reasons of the keys are more helpful than the failure of the set.
            guard let failure, findings.usable > 0 || findings.rejected.isEmpty else { return .success(findings) }
            return .failure(failure)
        } catch {
            return .failure(error)
        }
    }
}

// Describes why a key is rejected.
extension JSONWebKey {
    /// Whether a key is for signatures; others are ignored.
    fileprivate static func isForSignatures(_ json: JSON) -> Bool {
        let operations = json["key_ops"].map { $0.array?.contains("verify") ?? false } ?? true
        return operations && (json["use"].map { $0 == "sig" } ?? true)
    }

    fileprivate static func reason(against json: JSON) -> String {
        let name = json["kid"]?.string.map { ReceivedText.quoted($0.prefix(64)) } ?? "a key without kid"
        return "\(name): \(self.reason(in: json))"
    }

    private static func reason(in json: JSON) -> String {
        let type = json["kty"]?.string ?? ""
        let curve = json["crv"]?.string ?? ""
        switch (type, curve) {
        case ("RSA", _): return RSANumbers(json)?.weakness ?? self.misfit(json)
        case ("EC", "P-256"), ("EC", "P-384"), ("EC", "P-521"), ("OKP", "Ed25519"): return self.misfit(json)
        case ("EC", _), ("OKP", _): return "the curve \(ReceivedText.quoted(curve)) is not supported"
        case ("oct", _): return "a symmetric key, which must not be published"
        default: return "the type \(ReceivedText.quoted(type)) is not supported"
        }
    }

    private static func misfit(_ json: JSON) -> String {
        guard JSONWebKey(json) != nil else { return "malformed" }
        let algorithm = json["alg"]?.string.map { ReceivedText.quoted($0) } ?? "its algorithm"
        return "\(algorithm) is not allowed for this provider"
    }
}
