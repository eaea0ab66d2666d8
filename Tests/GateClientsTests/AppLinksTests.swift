// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import Testing

@Suite struct AppLinksTests {
    private static let print = Array(repeating: "AB", count: 32).joined(separator: ":")
    private static let otherPrint = Array(repeating: "0f", count: 32).joined(separator: ":")

    private static func client(_ uris: [String], android: [String] = [print]) throws -> ClientSettings {
        var client = try ClientSettings.with(.native, uris)
        client.appleApps = ["ABCDE12345.com.example.notes"]
        client.androidApps = [try #require(AndroidApp(package: "com.example.notes", fingerprints: android))]
        return client
    }

    private static func json(_ bytes: [UInt8]?) throws -> JSON { try JSON(parsing: #require(bytes)) }

    @Test func `Apple's systems get the paths of the https redirect URIs on the host, each once`() throws {
        let uris = [
            "https://notes.example.com/cb", "https://notes.example.com/cb?x=1", "https://notes.example.com",
            "https://other.example/x",
            "com.example.notes:/y", "http://127.0.0.1/z",
        ]
        let file = try Self.json(AppLinks.appleAssociation(for: "notes.example.com", of: [Self.client(uris)]))
        #expect(file.value(at: "/applinks/details/0/components") == [["/": "/cb"], ["/": "/"]])
        #expect(file.value(at: "/applinks/details/0/appIDs") == ["ABCDE12345.com.example.notes"])
        #expect(file.value(at: "/applinks/details/1") == nil)
        #expect(file.value(at: "/webcredentials/apps") == ["ABCDE12345.com.example.notes"])
    }

    @Test func `Android gets each package once, with all of its fingerprints`() throws {
        let uris = ["https://notes.example.com/cb"]
        let clients = [try Self.client(uris), try Self.client(uris, android: [Self.otherPrint, Self.print])]
        let file = try Self.json(AppLinks.assetLinks(for: "notes.example.com", of: clients))
        #expect(
            file == [
                [
                    "relation": ["delegate_permission/common.handle_all_urls"],
                    "target": [
                        "namespace": "android_app", "package_name": "com.example.notes",
                        "sha256_cert_fingerprints": [.string(Self.otherPrint.uppercased()), .string(Self.print)],
                    ],
                ]
            ]
        )
    }

    @Test(arguments: ["other.example", "example.com", "evil-notes.example.com", "notes.example.com."])
    func `a host without a redirect URI of the client names none of its apps`(host: String) throws {
        let clients = [try Self.client(["https://notes.example.com/cb", "com.example.notes:/cb"])]
        #expect(AppLinks.appleAssociation(for: host, of: clients) == nil)
        #expect(AppLinks.assetLinks(for: host, of: clients) == nil)
    }

    @Test func `a client without apps names none`() throws {
        let clients = [try ClientSettings.with(.native, ["https://notes.example.com/cb"])]
        #expect(AppLinks.appleAssociation(for: "notes.example.com", of: clients) == nil)
        #expect(AppLinks.assetLinks(for: "notes.example.com", of: clients) == nil)
    }

    @Test(arguments: [
        ("com.example.notes", true), ("com.example.notes_2", true), ("Com.Example", true), ("notes", false),
        ("com..notes", false),
        (".com.notes", false), ("com.2notes", false), ("com.example.n\u{F6}tes", false), ("com.example.notes ", false),
        ("", false),
    ])
    func `the name of a package has two parts or more`(package: String, isValid: Bool) {
        #expect((AndroidApp(package: package, fingerprints: [Self.print]) != nil) == isValid)
    }

    @Test(arguments: [
        print + ":AB", String(print.dropLast(3)), print.replacing(":", with: ""), print.replacing("AB", with: "AG"), "",
        print + ":",
    ])
    func `a fingerprint has 32 bytes`(fingerprint: String) {
        #expect(AndroidApp(package: "com.example.notes", fingerprints: [Self.print, fingerprint]) == nil)
    }

    @Test func `an Android app needs a fingerprint`() {
        #expect(AndroidApp(package: "com.example.notes", fingerprints: []) == nil)
    }
}
