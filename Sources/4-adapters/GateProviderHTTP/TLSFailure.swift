// SPDX-License-Identifier: Apache-2.0

/// Why a provider's TLS was refused, in the words of those who have to mend it.
enum TLSFailure: Sendable, CaseIterable {
    case other
    case expired
    case notYetValid
    case unknownIssuer
    case selfSigned
    case wrongHost
    case weak
    case oldProtocol
    case notSpoken
    case trustFile
    case chainTooLarge
    case wrongPurpose
    case pin
    case unproven
    case clientCertificate

    /// What is wrong, and what to do about it.
    var message: String {
        switch self {
        case .other:
            "the TLS connection failed"
        case .expired:
            "a certificate of it has expired; it has to be renewed there, unless the clock of this machine is wrong"
        case .notYetValid:
            "a certificate of it is not valid yet; the clock of this machine or of the issuer is wrong"
        case .unknownIssuer:
            "its certificate has an unknown issuer; name the PEM file of a private authority as tls.ca_file, "
                + "or have the server send its intermediate certificates"
        case .selfSigned:
            "its certificate is signed by itself; name it as tls.ca_file if it is the right one"
        case .wrongHost:
            "its certificate is for another host name; use a name that the certificate has, or have a new one issued"
        case .weak:
            "a certificate or key of it is too weak; a new one has to be issued there"
        case .oldProtocol:
            "it speaks no TLS newer than 1.1; TLS 1.2 or 1.3 has to be turned on there"
        case .notSpoken:
            "it does not speak TLS at this port; check scheme and port of the address"
        case .trustFile:
            "the file of tls.ca_file holds no certificate that can be read"
        case .chainTooLarge:
            "its chain has more than 10 certificates"
        case .wrongPurpose:
            "a certificate of it is not meant for servers; a new one has to be issued there"
        case .pin:
            "none of the pins in tls.pins is among the keys that it showed"
        case .unproven:
            "the connection was not verified in a full handshake, so nothing was sent over it"
        case .clientCertificate:
            "it asked for a certificate of the gateway and ended the connection; name one that it knows as tls.certificate, with its "
                + "tls.private_key"
        }
    }
}
