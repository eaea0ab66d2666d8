// SPDX-License-Identifier: Apache-2.0

internal import CClientCertificates
package import GateCore

/// Verifies the certificates of clients: the authorities that are trusted, and their revocation lists.
///
/// This is the file that faces C; the pointer to the C part lives here and nowhere else. It is only read once it is made.
@safe package final class CertificateAuthority: Sendable {
    /// A trusted certificate, or a revocation list.
    package struct Entry: Sendable {
        /// The subject of a certificate, the issuer of a list.
        package let name: String
        /// Since when it is valid.
        package let from: Instant
        /// Until when it is valid; nil for a list without an end.
        package let until: Instant?
        /// Of a list: whether a trusted certificate has signed it; nil if none is of its issuer.
        package let isSigned: Bool?
    }

    /// The certificates that are trusted.
    package let certificates: [Entry]
    /// The revocation lists.
    package let lists: [Entry]

    nonisolated(unsafe) private let pointer: OpaquePointer

    /// The limits on what a client presents.
    static let maxPresented = Int(GATE_MAX_PRESENTED)

    /// An authority of a PEM file of certificates and of files of revocation lists.
    ///
    /// - Throws: `client_certificate.files` with the file that cannot be used.
    package init(
        certificates: (file: String, bytes: [UInt8]),
        lists: [(file: String, bytes: [UInt8])]
    ) throws(Failure) {
        guard let pointer = unsafe gate_authority_create() else {
            throw Failure(.clientCertificateFiles, "no memory for the certificates of clients")
        }
        unsafe self.pointer = pointer
        do throws(Failure) {
            try unsafe CertificateAuthority.trust(certificates, pointer)
            for list in lists {
                switch unsafe gate_authority_add_lists(pointer, list.bytes, list.bytes.count) {
                case 1...: break
                case -2:
                    let help = "list the complete one of the authority"
                    throw Failure(
                        .clientCertificateFiles,
                        "\(list.file) is a delta list, which has only what changed since another one; \(help)"
                    )
                default:
                    throw Failure(
                        .clientCertificateFiles,
                        "\(list.file) holds no revocation list: write PEM, or one list in DER"
                    )
                }
            }
            guard unsafe gate_authority_finish(pointer) != 0 else {
                throw Failure(.clientCertificateFiles, "no memory for the certificates of clients")
            }
        } catch {
            unsafe gate_authority_destroy(pointer)
            throw error
        }
        self.certificates = unsafe (0..<gate_authority_certificates(pointer)).compactMap { index in
            unsafe CertificateAuthority.entry { unsafe gate_authority_certificate(pointer, index, $0) }
        }
        self.lists = unsafe (0..<gate_authority_lists(pointer)).compactMap { index in
            unsafe CertificateAuthority.entry { unsafe gate_authority_list(pointer, index, $0) }
        }
    }

    deinit {
        unsafe gate_authority_destroy(self.pointer)
    }

    private static func trust(
        _ certificates: (file: String, bytes: [UInt8]),
        _ pointer: OpaquePointer
    ) throws(Failure) {
        switch unsafe gate_authority_trust(pointer, certificates.bytes, certificates.bytes.count) {
        case 1...: break
        case -2:
            let help = "list the certificates that have issued those of the clients, not those themselves"
            throw Failure(
                .clientCertificateFiles,
                "\(certificates.file) has a certificate that is not of an authority (CA:TRUE); \(help)"
            )
        default:
            throw Failure(.clientCertificateFiles, "\(certificates.file) holds no PEM certificate that can be read")
        }
    }

    private static func entry(_ read: (UnsafeMutablePointer<gate_authority_entry>) -> Int32) -> Entry? {
        var entry = gate_authority_entry()
        guard unsafe read(&entry) != 0 else { return nil }
        return Entry(
            name: CertificateAuthority.text(&entry.name),
            from: Instant(seconds: entry.from),
            until: entry.until == .max ? nil : Instant(seconds: entry.until),
            isSigned: entry.is_signed == 0 ? nil : entry.is_signed > 0
        )
    }

    private static func text<Bytes>(_ bytes: inout Bytes) -> String {
        unsafe withUnsafeBytes(of: &bytes) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The result of verifying what a client presented.
    struct Verification {
        let verdict: CertificateRejection?
        /// What the library reports.
        let reason: String
        /// When it begins and ends to hold.
        let from: Instant
        let until: Instant
        let subject: String
        let issuer: String
        let fingerprint: [UInt8]
        /// The places of the certificates between that of the client and the trusted one, among those presented.
        let intermediates: [Int]
    }

    /// Verifies a certificate and its chain.
    ///
    /// - Parameters:
    ///   - chain: The certificates in DER that the client presented, its own first; at most ``maxPresented``.
    ///   - now: The time.
    /// - Returns: The result.
    func verify(_ chain: [[UInt8]], at now: Instant) -> Verification {
        var result = unsafe gate_verification()
        let (bytes, sizes) = (chain.flatMap(\.self), chain.map(\.count))
        unsafe gate_authority_verify(self.pointer, bytes, sizes, sizes.count, now.seconds, &result)
        let places = unsafe withUnsafeBytes(of: &result.places) { bytes in
            unsafe Array(bytes.bindMemory(to: Int32.self))
        }
        return unsafe Verification(
            verdict: CertificateRejection(result.verdict),
            reason: result.reason.map { unsafe String(cString: $0) } ?? "",
            from: Instant(seconds: result.from),
            until: Instant(seconds: result.until),
            subject: CertificateAuthority.text(&result.subject),
            issuer: CertificateAuthority.text(&result.issuer),
            fingerprint: withUnsafeBytes(of: &result.fingerprint) { unsafe Array($0) },
            intermediates: places.prefix(result.intermediates).map(Int.init).filter { $0 > 0 }
        )
    }
}

/// Why a certificate of a client is not accepted.
package enum CertificateRejection: String, Sendable, Hashable, CaseIterable {
    /// It, or one of its chain, cannot be read, or has too many or too long certificates beside it.
    case malformed
    /// It, or one of its chain, has expired.
    case expired
    /// It, or one of its chain, is not valid yet.
    case notYetValid = "not_yet_valid"
    /// No chain leads to a trusted authority.
    case unknownIssuer = "unknown_issuer"
    /// It, or one of its chain, is on a revocation list.
    case revoked
    /// There are revocation lists, and none of an authority in its chain.
    case noList = "no_list"
    /// The revocation list of an authority in its chain is too old.
    case oldList = "old_list"
    /// The revocation list of an authority in its chain cannot be used.
    case badList = "bad_list"
    /// It is not for clients, or one of its chain is not for authorities.
    case wrongPurpose = "wrong_purpose"
    /// A key is too short, or a signature uses a broken hash.
    case weak
    /// Too many authorities are between it and a trusted one.
    case chainTooLong = "chain_too_long"
    /// Any other reason.
    case other

    /// What is wrong and what to do, for operators.
    package var words: String {
        switch self {
        case .malformed: "it cannot be read, or too many certificates came with it"
        case .expired: "it or an authority of its chain has expired"
        case .notYetValid: "it or an authority of its chain is not valid yet; look at the clock of this machine"
        case .unknownIssuer:
            "no authority in 'ca_file' has issued it, or the client did not send the certificates between"
        case .revoked: "it or an authority of its chain is revoked"
        case .noList: "'crl_files' has no revocation list of an authority in its chain"
        case .oldList:
            "the revocation list of an authority in its chain is out of date; replace the file in 'crl_files'"
        case .badList: "the revocation list of an authority in its chain cannot be used, such as for a wrong signature"
        case .wrongPurpose: "it is not for clients (extended key usage clientAuth), or its chain not for authorities"
        case .weak: "a key has less than 112 bits of security, or a signature uses SHA-1 or MD5"
        case .chainTooLong: "too many authorities are between it and one in 'ca_file'"
        case .other: "it could not be verified"
        }
    }

    /// Maps a verdict of the C part; nil for a certificate that is valid.
    fileprivate init?(_ verdict: gate_verdict) {
        switch verdict {
        case GATE_CERTIFICATE_VALID: return nil
        case GATE_CERTIFICATE_MALFORMED: self = .malformed
        case GATE_CERTIFICATE_EXPIRED: self = .expired
        case GATE_CERTIFICATE_NOT_YET_VALID: self = .notYetValid
        case GATE_CERTIFICATE_UNKNOWN_ISSUER: self = .unknownIssuer
        case GATE_CERTIFICATE_REVOKED: self = .revoked
        case GATE_CERTIFICATE_NO_LIST: self = .noList
        case GATE_CERTIFICATE_OLD_LIST: self = .oldList
        case GATE_CERTIFICATE_BAD_LIST: self = .badList
        case GATE_CERTIFICATE_WRONG_PURPOSE: self = .wrongPurpose
        case GATE_CERTIFICATE_WEAK: self = .weak
        case GATE_CERTIFICATE_CHAIN_TOO_LONG: self = .chainTooLong
        default: self = .other
        }
    }
}
