// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GateTestSupport
import Testing

/// The name of the content of a configuration, by which an operator confirms a guarded reload.
@Suite struct LoadedContentTests {
    private let folder: TemporaryFolder
    private var path: String { "\(self.folder.path)/providers.yaml" }

    init() throws {
        self.folder = try TemporaryFolder()
        try self.write(app: "9000", user: "1")
    }

    private func write(app port: String, user: String) throws {
        let text = """
            gateway:
              public_url: http://localhost:8080
              listeners: [{address: "127.0.0.1:8080"}]
              state: \(self.folder.path)/state
            include: [apps.yaml]
            sessions: {store: "memory:"}
            providers:
              staff: {type: oidc, issuer: "http://127.0.0.1:\(port)", client_id: a, client_secret: b}
            """
        let apps = """
            apps:
              wiki: {path: /wiki/, upstream: "http://127.0.0.1:9100", allow: [{user: "staff:\(user)"}]}
            """
        try Data(text.utf8).write(to: URL(filePath: self.path))
        try Data(apps.utf8).write(to: URL(filePath: "\(self.folder.path)/apps.yaml"))
    }

    private func load() -> ConfigurationResult { Configuration.load(path: self.path, environment: [:]) }

    @Test func `B-15: the content of a configuration is that of all files as they were parsed`() throws {
        let first = self.load()
        #expect(first.configuration != nil && !first.content.isEmpty)
        try self.write(app: "9000", user: "2")
        let second = self.load()
        #expect(second.content != first.content && second.fileContent == first.fileContent)
        try self.write(app: "9001", user: "2")
        let third = self.load()
        #expect(third.content != second.content && third.fileContent != second.fileContent)
        try self.write(app: "9000", user: "1")
        // What was read before still has its own name.
        #expect(self.load().content == first.content && third.content != first.content)
        let bytes = Array(try Data(contentsOf: URL(filePath: self.path)))
        #expect(first.fileContent == ContentDigest.name(of: bytes))
    }
}
