// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOSSL
import Testing

@testable import GateHTTP

/// What is read from certificates that `openssl req -x509` made.
@Suite struct ServerCertificateTests {
    /// RSA with 1024 bits, SHA-1, for Weak.example and two addresses, for clients only.
    private static let weak = """
        -----BEGIN CERTIFICATE-----
        MIICUzCCAbygAwIBAgIUUziYYZ5taMtqR+LzIctech9fgVMwDQYJKoZIhvcNAQEF
        BQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjIxNTI4NDJaGA8yMTI2MTAyOTE1
        Mjg0MlowDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkC
        gYEA2V3cm/LQoeDO4hkAg/krIzWIVyOiX8PCkCXm6XDKcqAi1tiJ5gmKE20uGpYC
        tfnA9CF641DISbkZVp6jTJyovc0jN9AIBb2bNViQb8qXSEf8dCnkEiBYxCT5qEML
        MuPAepGQ/Zt9XBHzPjeQ+61ThqLsE0KcxjP0bmcnMIPH3g0CAwEAAaOBqTCBpjAd
        BgNVHQ4EFgQU2Yz4DXcoyk5g2IjocAuN0IHhKUAwHwYDVR0jBBgwFoAU2Yz4DXco
        yk5g2IjocAuN0IHhKUAwDwYDVR0TAQH/BAUwAwEB/zA+BgNVHREENzA1ggxXZWFr
        LmV4YW1wbGWHBMAAAgeHECABDbgAAAAAAAAAAAAAAAeBDWFAZXhhbXBsZS5jb20w
        EwYDVR0lBAwwCgYIKwYBBQUHAwIwDQYJKoZIhvcNAQEFBQADgYEAst80l2Osp655
        PNyx06LOSsy3xjRjG9mPRVbydQvcjeQnoQauO6aPCNQR0AB0MyBBqrR0lJlKrv3H
        XlzN2ndXN5w46PnbAYx2TjaDg5zej5l/oVHQH/NDwcbE9D7V+Fz0eGCEK+FgGn4Z
        pTl8Xnb0mcHYsNAx5q+8h8a+xcwX2m4=
        -----END CERTIFICATE-----
        """
    /// Ed25519, for ed.example, for servers and clients.
    private static let edwards = """
        -----BEGIN CERTIFICATE-----
        MIIBaTCCARugAwIBAgIUe08d4jbmria5ReNA4iG039MdJL0wBQYDK2VwMA0xCzAJ
        BgNVBAMMAmVkMCAXDTI2MTEyMjE1Mjg0MloYDzIxMjYxMDI5MTUyODQyWjANMQsw
        CQYDVQQDDAJlZDAqMAUGAytlcAMhAEPP90lac2djjOv7SmPOV07fztJhuxaRJrNB
        1dVovTYHo4GKMIGHMB0GA1UdDgQWBBS75auUyJdI62m1sM2myxG7ik6y3TAfBgNV
        HSMEGDAWgBS75auUyJdI62m1sM2myxG7ik6y3TAPBgNVHRMBAf8EBTADAQH/MBUG
        A1UdEQQOMAyCCmVkLmV4YW1wbGUwHQYDVR0lBBYwFAYIKwYBBQUHAwEGCCsGAQUF
        BwMCMAUGAytlcANBAMY9UsBz0L8s9TGQSWn15LBPUEJa8NUtBO5QXm5mIxLooDpO
        42IcQfu/LIpXQpjmtL1FRF6U2o/sWtzRui+OewY=
        -----END CERTIFICATE-----
        """
    /// ECDSA on P-384, without names and purposes.
    private static let nameless = """
        -----BEGIN CERTIFICATE-----
        MIIBrTCCATSgAwIBAgIUQVGQBY3QIV0q15zN4GEOItRAT0AwCgYIKoZIzj0EAwIw
        DTELMAkGA1UEAwwCZWMwIBcNMjYxMTIyMTUyODQyWhgPMjEyNjEwMjkxNTI4NDJa
        MA0xCzAJBgNVBAMMAmVjMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE0XZv0gZRgKfX
        ejdePQk0JZeNefLRtopjuZ3/uNWKm0M7U5sqf1z5Y/fLsvZYhOR35p0Wb31kE8S3
        bQ6GaWBrkiVXs2jL5225QepZ5lQgRag9SE531qX3BPkfSIKr9JFRo1MwUTAdBgNV
        HQ4EFgQUUYAMyeDcPstv/JuuhrQlYP3Q1nEwHwYDVR0jBBgwFoAUUYAMyeDcPstv
        /JuuhrQlYP3Q1nEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNnADBkAjAn
        byVwYeWPojCxAj1JfC/FsnjwW0PIfNnNPCNU3sfOeBGms3dFL89Lc7AQK4voGO8C
        MHuW9NfedH1N47b/6sjmS7sv6tUKofnwHzkeLEsyrsCdBuZZF50q5ZrYo56PsLQl
        ow==
        -----END CERTIFICATE-----
        """

    private static func certificate(_ pem: String) throws -> ServerCertificate {
        try ServerCertificate(try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first))
    }

    @Test func `Z-01: a weak certificate is read, so that it can be reported`() throws {
        let certificate = try Self.certificate(Self.weak)
        #expect(certificate.key == .rsa(bits: 1024))
        #expect(certificate.hasWeakSignature)
        #expect(!certificate.isForServers)
        #expect(certificate.names == ["weak.example"])
        #expect(certificate.notBefore < certificate.notAfter)
    }

    @Test(arguments: [
        ("weak.example", true), ("192.0.2.7", true), ("[2001:db8::7]", true), ("192.0.2.8", false),
        ("[2001:db8::8]", false),
        ("a.weak.example", false),
    ])
    func `Z-01: a certificate is valid for the IP addresses that it lists`(host: String, isCovered: Bool) throws {
        #expect(try Self.certificate(Self.weak).covers(host) == isCovered)
    }

    @Test func `Z-01: an unusual key is distinguished from the usual ones`() throws {
        let edwards = try Self.certificate(Self.edwards)
        #expect(edwards.key == .other && !edwards.hasWeakSignature && edwards.isForServers)
        let nameless = try Self.certificate(Self.nameless)
        #expect(nameless.key == .ecdsa(bits: 384) && !nameless.hasWeakSignature && nameless.isForServers)
        #expect(nameless.names.isEmpty && !nameless.covers("ec"))
    }
}
