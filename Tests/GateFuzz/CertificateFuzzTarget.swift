// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateHTTP

/// The headers with which proxies pass certificates on: what is read stays within limits and is read again as the same, and no other
/// certificate than the one that the authority has signed is accepted.
enum CertificateFuzzTarget {
    private static let fixed = Fixed()

    static func violation(in input: Input) -> String? {
        guard let fixed else { return "the authority of the target is rejected" }
        // The lowest three bits of the seed are the form, all set for the header with the chain.
        let form = CertificateForm.allCases.dropFirst(Int(input.seed & 7)).first
        guard let read = try? form?.certificates(in: input.bytes) ?? CertificateForm.chain(in: input.bytes) else {
            return nil
        }
        guard read.count <= 8 else { return "\(read.count) certificates are read" }
        guard read.allSatisfy({ !$0.isEmpty }) else { return "an empty certificate is read" }
        guard read.reduce(0, { $0 + $1.count }) <= input.bytes.count else { return "more is read than is there" }
        let written = read.map { ":\(Data($0).base64EncodedString()):" }.joined(separator: ", ")
        let again = read.isEmpty ? [] : try? CertificateForm.chain(in: Array(written.utf8))
        guard again == read else { return "what is read, written again, is read as something else" }
        return fixed.violation(of: read)
    }

    /// An authority, and the one certificate that it has signed.
    private struct Fixed: Sendable {
        private let authority: CertificateAuthority
        /// What of the certificate is signed: the first element in it.
        private let signed: [UInt8]

        init?() {
            let pem = "-----BEGIN CERTIFICATE-----\n\(CertificateFuzzTarget.devices)\n-----END CERTIFICATE-----\n"
            guard let authority = try? CertificateAuthority(certificates: ("fixed", Array(pem.utf8)), lists: []),
                let laptop = Data(base64Encoded: CertificateFuzzTarget.laptop)
            else { return nil }
            self.authority = authority
            // Both lengths have two bytes.
            self.signed = Array(laptop[4..<(8 + Int(laptop[6]) << 8 + Int(laptop[7]))])
            guard self.isAccepted([Array(laptop)]) else { return nil }
        }

        private func isAccepted(_ chain: [[UInt8]]) -> Bool {
            let status = PresentedCertificate(chain).status(by: self.authority, at: Instant(seconds: 1_900_000_000))
            guard case .verified = status else { return false }
            return true
        }

        func violation(of chain: [[UInt8]]) -> String? {
            guard let own = chain.first, self.isAccepted(chain) else { return nil }
            let isSigned = own.indices.contains { own[$0...].starts(with: self.signed) }
            return isSigned ? nil : "a certificate is accepted that the authority has not signed"
        }
    }

    private static let devices =
        "MIIBizCCATGgAwIBAgIUTltBYQQEcsEMH3ri21hK6FqqvlUwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwHZGV2aWNlczAgFw0yNTEx"
        + "MjgwODQ5MzdaGA8yMTI2MTEwNDA4NDkzN1owEjEQMA4GA1UEAwwHZGV2aWNlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBP7"
        + "DAHxN9XzTuqOzMWhB9vkqTDxawdLB/qbX2AzRRcMnxmcQlMstyWX0KvSQCuLhSovThYtnbU3kc+9QArL2uejYzBhMB0GA1UdDgQW"
        + "BBRz9HSYYGeJBgAqb+KUJBma7ODDdzAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIBhjAfBgNVHSMEGDAWgBRz9HSYYGeJ"
        + "BgAqb+KUJBma7ODDdzAKBggqhkjOPQQDAgNIADBFAiEA0fXyOPrKIkGXvS1eoKvlzLN6QuIHKuPQIm+/4i4AZdsCIGU2K6cpwmg/"
        + "IORuFsiupCkcGl31aRZfoXL1hT4NDb+q"

    private static let laptop =
        "MIIBsTCCAVegAwIBAgIULzWV9mWsVVspj0O6SePUKOHMHuowCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwHZGV2aWNlczAgFw0yNjAy"
        + "MDEwODQ5MzdaGA8yMTI2MDcyNzA4NDkzN1owETEPMA0GA1UEAwwGbGFwdG9wMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX+6q"
        + "2vcZ2X73hr4ITFXyn63fnZbXzFpzhLNx9Z9RrtTbE+HQy5bLuh6Z7r5Nsu9SkEXOSags3ypXwVGaxUqMV6OBiTCBhjAdBgNVHQ4E"
        + "FgQU54bVrl0/NsvqCcwFEGtnXNMGV+wwDAYDVR0TAQH/BAIwADAhBgNVHREEGjAYghZsYXB0b3AuZGV2aWNlcy5leGFtcGxlMBMG"
        + "A1UdJQQMMAoGCCsGAQUFBwMCMB8GA1UdIwQYMBaAFHP0dJhgZ4kGACpv4pQkGZrs4MN3MAoGCCqGSM49BAMCA0gAMEUCIQC9g5PU"
        + "kDzuuASqpWoWhMz9yaHGE7C6UOyziFnnT657hwIgd6FfMtN/S5apRlFyj2pm+r3qJuZlXmT7cY7EuqotJjY="
}
