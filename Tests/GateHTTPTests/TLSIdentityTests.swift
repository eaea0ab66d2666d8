// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateCore
import NIOCore
import NIOEmbedded
import NIOTLS
import SwiftASN1
import Testing
import X509

@testable import GateHTTP

@Suite struct TLSIdentityTests {
    private static let notAfter = Date(timeIntervalSince1970: 1_900_000_000)

    /// An identity made for the test, for these names.
    private static func identity(_ names: [String]) throws -> TLSIdentity {
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName("common.example") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(bytes: [1]),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notValidAfter: notAfter,
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                SubjectAlternativeNames(names.map { .dnsName($0) })
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificateFile, keyFile) = (
            folder.appendingPathComponent("c").path, folder.appendingPathComponent("k").path
        )
        try certificate.serializeAsPEM().pemString.write(toFile: certificateFile, atomically: true, encoding: .utf8)
        try key.pemRepresentation.write(toFile: keyFile, atomically: true, encoding: .utf8)
        return try TLSIdentity(certificateFile: certificateFile, keyFile: keyFile)
    }

    @Test(arguments: [
        ("a.example", true), ("x.wild.example", true), ("upper.example", true), ("b.example", false),
        ("wild.example", false), ("x.y.wild.example", false), ("xwild.example", false), ("a.example.evil", false),
        ("common.example", false), ("example", false), ("", false),
    ])
    func `a certificate is valid for its names and for one label of a wildcard`(host: String, isCovered: Bool) throws {
        let identity = try Self.identity(["a.example", "*.wild.example", "UPPER.example"])
        #expect(identity.covers(host) == isCovered)
    }

    @Test func `the end of validity is read from the certificate`() throws {
        #expect(try Self.identity(["a.example"]).certificate.notAfter == Instant(seconds: 1_900_000_000))
    }

    @Test(arguments: [
        (nil, "other.example", true), ("a.example", "a.example", true), ("a.example", "b.example", true),
        ("a.example", "other.example", false), ("other.example", "other.example", true),
    ])
    func `S-58 a request may use a connection for its own host or another of the same certificate`(
        name: String?,
        host: String,
        isAdmitted: Bool
    ) throws {
        let identity = try Self.identity(["a.example", "b.example"])
        let facts = NegotiatedTLS(serverName: name, identity: identity, accepted: .now())
        #expect(facts.admits(host: host) == isAdmitted)
    }

    @Test func `errors name files without a certificate or with another key`() throws {
        let missing = #expect(throws: Failure.self) {
            try TLSIdentity(certificateFile: "/nowhere/c.pem", keyFile: "/nowhere/k.pem")
        }
        #expect(missing?.code == "tls.certificate_unreadable" && missing?.detail.contains("/nowhere/c.pem") == true)
    }

    @Test func `a handshake has ten seconds from the accept, whatever arrives`() throws {
        let facts = NegotiatedTLS(
            serverName: nil,
            identity: try Self.identity(["a.example"]),
            accepted: .now() - .seconds(4)
        )
        let fixture = try ConnectionFixture(tls: facts)
        #expect(fixture.secondsLeft == 6)
        fixture.pass(5)
        #expect(!fixture.tap.isClosed)
        fixture.pass(7)
        #expect(fixture.tap.isClosed)
    }

    @Test func `after the handshake the first byte has ten seconds`() throws {
        let facts = NegotiatedTLS(
            serverName: nil,
            identity: try Self.identity(["a.example"]),
            accepted: .now() - .seconds(4)
        )
        let fixture = try ConnectionFixture(tls: facts)
        fixture.responder.respondsToAll()
        fixture.channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        #expect(fixture.secondsLeft == 10)
        try fixture.send(get("https://a/x"))
        #expect(statuses(try fixture.received()) == ["200"])
    }

    @Test func `a connection in its handshake can be closed as idle`() throws {
        let facts = NegotiatedTLS(serverName: nil, identity: try Self.identity(["a.example"]), accepted: .now())
        let fixture = try ConnectionFixture(tls: facts)
        #expect(fixture.connection.closeIfIdle(for: .zero))
        #expect(fixture.tap.isClosed)
    }
}
