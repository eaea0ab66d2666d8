// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy

@testable import GateImport

/// The result of an import, read as `gatehouse check` reads it.
struct Imported {
    let result: ImportResult
    /// The configuration; nil if the file is not valid.
    let configuration: Configuration?
    /// The errors of the file.
    let errors: [String]

    /// Imports files; every variable that the result names is set, and every file that it names is a certificate.
    init(_ files: [ImportFile], format: ImportFormat? = nil, publicURL: String? = "https://gate.example.com") throws {
        let url = publicURL.flatMap { WebURL($0)?.origin }
        self.result = try ConfigurationImport.result(of: files, format: format, publicURL: url)
        let names = self.result.yaml.split(separator: "${env:").dropFirst().map { String($0.prefix { $0 != "}" }) }
        let environment = Dictionary(names.map { ($0, Imported.value(of: $0)) }) { first, _ in first }
        let access = FileAccess { _, _ in .bytes(Array("-----BEGIN CERTIFICATE-----".utf8)) }
        let read = Configuration.parse(
            bytes: Array(self.result.yaml.utf8),
            name: "providers.yaml",
            folder: "/etc",
            environment: environment,
            files: access
        )
        self.configuration = read.configuration
        self.errors = read.diagnostics.filter { $0.severity == .error }.map(\.rendered)
    }

    /// Imports one text.
    init(
        _ text: String,
        kind: ImportFile.Kind = .automatic,
        format: ImportFormat? = nil,
        publicURL: String? = "https://gate.example.com"
    ) throws {
        try self.init(
            [ImportFile(name: "source", kind: kind, bytes: Array(text.utf8))],
            format: format,
            publicURL: publicURL
        )
    }

    private static func value(of variable: String) -> String {
        variable.contains("REDIS_URL") ? "redis://:secret@10.0.0.9:6379/0" : "a value of at least 32 bytes, for tests"
    }

    /// The lines of the file, without white space around them.
    var lines: [String] {
        self.result.yaml.split(separator: "\n").map { line in
            let start = line.drop { $0 == " " }
            return String(start)
        }
    }

    /// The notes of a line.
    func notes(line: Int) -> [String] {
        self.result.notes.filter { $0.place?.line == line }.map { "\($0.severity.rawValue): \($0.message)" }
    }

    /// Whether a note of a line contains a text.
    func hasNote(_ text: String, line: Int? = nil) -> Bool {
        self.result.notes.contains { $0.message.contains(text) && (line == nil || $0.place?.line == line) }
    }

    /// The decision about a request for a URL of `host`, by the app with the longest path.
    func decision(
        _ path: String,
        host: String = "gate.example.com",
        method: String = "GET",
        from client: String? = nil,
        _ user: Profile? = nil
    ) -> Decision? {
        let all = self.configuration?.apps ?? []
        // A wildcard is for the hosts that no app names.
        let named = all.filter { $0.route.origins.hosts.contains(.exact(host)) }
        let apps = (named.isEmpty ? all : named).filter { app in
            let prefix = app.route.path
            let isServed = prefix == "/" || path == prefix || path.hasPrefix("\(prefix)/")
            return isServed && app.route.origins.contains(host)
        }
        let app = apps.max { $0.route.path.utf8.count < $1.route.path.utf8.count }
        let ip = client.flatMap { IPAddress($0) }
        let facts = RequestFacts(method: method, client: ip, time: Instant(seconds: 0), authenticated: nil)
        return app?.route.decision(for: facts, path: Array(path.utf8), profile: user)
    }

    /// Whether a user may open a URL.
    func admits(
        _ user: Profile,
        _ path: String = "/",
        host: String = "gate.example.com",
        method: String = "GET",
        from client: String? = nil
    ) -> Bool {
        if case .admitted? = self.decision(path, host: host, method: method, from: client, user) { true } else { false }
    }

    /// Whether a URL needs no sign-in.
    func isPublic(
        _ path: String,
        host: String = "gate.example.com",
        method: String = "GET",
        from client: String? = nil
    ) -> Bool {
        self.decision(path, host: host, method: method, from: client) == .openToAll
    }
}

extension Profile {
    /// A user with a verified email address for which the provider is the authority.
    static func user(_ provider: String, email: String? = "ann@example.com", groups: [String] = []) -> Profile {
        var profile = Profile(provider: provider, issuer: "https://id.example.com", subject: "1")
        profile.email = email
        profile.emailVerified = email != nil
        profile.emailAuthoritative = email != nil
        profile.groups = groups
        return profile
    }
}
