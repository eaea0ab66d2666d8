// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviderHTTP

/// A stub that cannot be made; a mistake in the test.
package struct StubError: Error {}

extension Pin {
    /// The hash of the key with that number.
    package static func stub(_ key: UInt8) throws -> Pin {
        guard let pin = Pin([UInt8](repeating: key, count: Pin.length)) else {
            throw StubError()
        }
        return pin
    }
}

extension PinSet {
    /// A set of keys by their numbers.
    package static func stub(
        _ keys: UInt8...,
        match: Match = .publicKey,
        mode: Mode = .enforce,
        expires: Instant? = nil,
        expired: Expired = .report,
        preset: String? = nil
    ) throws -> PinSet {
        let pins = try keys.map { try Pin.stub($0) }
        return PinSet(match: match, mode: mode, pins: pins, expires: expires, expired: expired, preset: preset)
    }
}

extension ProviderCertificate {
    /// The certificate of a key by its number; the hash of the certificate itself is that number and 100.
    ///
    /// - Parameters:
    ///   - key: The number of the key.
    ///   - subject: Whose certificate it is.
    ///   - age: Since when it is valid.
    ///   - left: How long it is valid yet.
    /// - Returns: The certificate, valid around the start of a stage.
    /// - Throws: If the number makes no pin.
    package static func stub(
        _ key: UInt8,
        _ subject: String = "CN=id.example.com",
        age: Duration = .days(200),
        left: Duration = .days(200)
    ) throws -> ProviderCertificate {
        try .stub(Pin.stub(key), subject, age: age, left: left, certificate: .stub(key + 100))
    }

    /// The certificate of a key with that pin.
    package static func stub(
        _ pin: Pin?,
        _ subject: String,
        age: Duration = .days(200),
        left: Duration = .days(200),
        certificate: Pin? = nil
    ) -> ProviderCertificate {
        ProviderCertificate(
            subject: subject,
            issuer: "CN=Authority",
            notBefore: TestClock().now.advanced(by: .zero - age),
            notAfter: TestClock().now.advanced(by: left),
            publicKeyPin: pin,
            certificatePin: certificate
        )
    }
}

extension Duration {
    /// Whole days.
    package static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
