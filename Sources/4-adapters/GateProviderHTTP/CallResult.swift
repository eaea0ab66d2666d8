// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID

/// The result of a call, as copied from the C side.
struct CallResult: Sendable {
    /// Why it ended.
    enum Outcome: Sendable, CaseIterable {
        case completed
        case timedOut
        case unreachable
        case tlsFailed
        case connectionLost
        case bodyTooLarge
        case headTooLarge
        case malformed
        case cancelled
        case shutDown
        case queueFull
        case outOfMemory
        case proxyRefused
        case queueTimedOut
    }

    let outcome: Outcome
    /// Why TLS failed, if it did.
    var tlsFailure = TLSFailure.other
    var status = 0
    /// Field lines of the final response, without the status line.
    var head: [UInt8] = []
    var body: [UInt8] = []
    /// libcurl's message for a failure.
    var text = ""
    /// The chain as verified, leaf first, if it was wanted or pins were looked at.
    var certificates: [ProviderCertificate] = []
    /// The file of the certificate that the gateway shows to hosts which ask for one; nil for none.
    var shown: String?
    /// The result of the pin check.
    var verdict = PinVerdict.notChecked

    /// The response, or the failure.
    ///
    /// - Parameter origin: The origin of the URL, the only part of it that a failure names.
    /// - Returns: The response with its fields.
    /// - Throws: A `Failure` for everything but a complete response.
    func response(from origin: Origin) throws(Failure) -> ProviderResponse {
        guard self.outcome == .completed else { throw self.failure(at: origin) }
        guard (200...599).contains(self.status), let headers = CallResult.fields(in: self.head) else {
            throw Failure(.providerResponseMalformed, "\(origin): status line or header fields")
        }
        return ProviderResponse(status: self.status, headers: headers, body: self.body)
    }

    /// The chain, and the head of the response if there was one: the chain is known before the response.
    ///
    /// - Parameter origin: Where the call went.
    /// - Returns: The probe, without body.
    /// - Throws: A `Failure` if the chain was rejected or is missing, or a host without TLS did not respond.
    func probe(from origin: Origin) throws(Failure) -> HostProbe {
        guard self.outcome == .completed || self.outcome != .tlsFailed && !self.certificates.isEmpty else {
            throw self.failure(at: origin)
        }
        guard !origin.isSecure || !self.certificates.isEmpty else {
            throw Failure(.providerTLS, "\(origin): its certificates could not be read")
        }
        return HostProbe(certificates: self.certificates, response: try? self.response(from: origin))
    }

    private func failure(at origin: Origin) -> Failure {
        let detail = self.text.isEmpty ? "\(origin)" : "\(origin): \(self.printableText)"
        return switch self.outcome {
        case .timedOut: Failure(.providerTimeout, detail)
        case .unreachable: Failure(.providerUnreachable, detail)
        case .tlsFailed where self.tlsFailure == .pin:
            Failure(.providerPinMismatch, self.stranger(at: origin))
        case .tlsFailed: Failure(.providerTLS, self.tlsDetail(of: origin))
        case .proxyRefused:
            Failure(
                .providerProxy,
                "\(origin): the proxy responded \(self.status) and opened no tunnel"
            )
        case .connectionLost: Failure(.providerConnectionLost, detail)
        case .bodyTooLarge: Failure(.providerResponseTooLarge, "\(origin): body")
        case .headTooLarge: Failure(.providerResponseTooLarge, "\(origin): header fields")
        case .completed, .malformed: Failure(.providerResponseMalformed, detail)
        case .cancelled: Failure(.providerCancelled, "\(origin)")
        case .shutDown: Failure(.providerShutDown, "\(origin)")
        case .queueFull: Failure(.providerQueueFull, "\(origin): too many calls wait already")
        case .queueTimedOut:
            Failure(.providerQueueFull, "\(origin): waited too long for one of max_connections")
        case .outOfMemory: Failure(.providerNoResources, detail)
        }
    }

    /// What happened in the handshake with a host that has pins.
    func handshake(_ provider: String, _ origin: Origin, _ pins: PinRule) -> PinnedHandshake {
        PinnedHandshake(
            provider: provider,
            origin: origin,
            set: pins.set,
            isEnforced: pins.isEnforced,
            verdict: self.verdict,
            certificates: self.certificates
        )
    }

    private func stranger(at origin: Origin) -> String {
        let shown = self.certificates.first?.publicKeyPin.map { ", whose own is \($0)" } ?? ""
        return "\(origin): \(self.tlsFailure.message)\(shown)"
    }

    /// The message of the gateway, then that of libcurl.
    private func tlsDetail(of origin: Origin) -> String {
        let text = self.printableText
        let message: String
        if self.tlsFailure == .clientCertificate, let shown {
            message =
                "it asked for a certificate and ended the connection after \(shown) of tls.certificate: have that registered there, or "
                + "renew it if it has expired"
        } else {
            message = self.tlsFailure.message
        }
        return text.isEmpty ? "\(origin): \(message)" : "\(origin): \(message) (\(text))"
    }

    /// The message in one line, because parts of it come from a certificate.
    private var printableText: String {
        let bytes = self.text.utf8.prefix(240).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension CallResult {
    /// The fields of a head with names in lower case, or nil if a line is not a field.
    ///
    /// RFC 9112 §5.
    static func fields(in head: [UInt8]) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        for line in head.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            let sides = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let name = self.name(sides[0]), let value = self.value(sides[1]) else { return nil }
            fields.append((name: name, value: value))
        }
        return fields
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return nil }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}
