// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
internal import NIOSSL

/// Everything around the gateway in the demo: three simulated providers with TLS, and an app to protect.
///
/// All of it listens on 127.0.0.1 only and needs neither an account nor the internet.
package final class DemoWorld: Sendable {
    /// Ports to listen on; 0 takes any free one.
    package struct Ports: Sendable, Hashable {
        /// The simulated Google, https.
        package var google: Int
        /// The simulated GitHub, https.
        package var github: Int
        /// The simulated Microsoft, https.
        package var microsoft: Int
        /// What browsers see of Google, plain http.
        package var googlePages: Int
        /// What browsers see of GitHub, plain http.
        package var githubPages: Int
        /// What browsers see of Microsoft, plain http.
        package var microsoftPages: Int
        /// The sample app, plain http.
        package var app: Int
        /// The gateway's operations address, which the configuration names; nothing of the demo listens there.
        package var operations: Int

        /// Names the ports; each is free to choose unless given.
        package init(
            google: Int = 0,
            github: Int = 0,
            microsoft: Int = 0,
            googlePages: Int = 0,
            githubPages: Int = 0,
            microsoftPages: Int = 0,
            app: Int = 0,
            operations: Int = 0,
        ) {
            self.google = google
            self.github = github
            self.microsoft = microsoft
            self.googlePages = googlePages
            self.githubPages = githubPages
            self.microsoftPages = microsoftPages
            self.app = app
            self.operations = operations
        }
    }

    /// The ports in use.
    package let ports: Ports
    /// A complete `providers.yaml` for a gateway in front of this world.
    package let configurationText: String
    /// The PEM file with the certificate authority of the providers.
    package let caFile: String
    private let servers: [DemoServer]

    private init(ports: Ports, configurationText: String, caFile: String, servers: [DemoServer]) {
        self.ports = ports
        self.configurationText = configurationText
        self.caFile = caFile
        self.servers = servers
    }

    /// Starts providers and app.
    ///
    /// - Parameters:
    ///   - folder: Where certificate and secrets are written, readable by the owner alone; made if it is missing.
    ///   - gatewayPort: The port on which the gateway will listen, which callbacks and assertions name.
    ///   - ports: The ports to listen on.
    ///   - clock: Tells the time for codes and tokens.
    ///   - random: Makes codes, tokens and secrets.
    /// - Returns: The running world.
    /// - Throws: Whatever keeps a port from being bound or a file from being written.
    @concurrent package static func start(
        in folder: String,
        gatewayPort: Int,
        ports: Ports = Ports(),
        clock: WallClock = .system,
        random: RandomBytes = .system,
    ) async throws -> DemoWorld {
        async let googleKey = DemoKey.make()
        async let microsoftKey = DemoKey.make()
        let files = try DemoFiles(folder: folder)
        let authority = try DemoAuthority()
        // Bound first: a second demo on the same ports must not overwrite the files of the one that runs.
        let servers = try await Self.bind(ports, tls: authority.tls)
        let caFile = try files.write(authority.certificate, name: "ca.pem")
        var bound = servers.ports
        bound.operations = ports.operations == 0 ? try await Self.freePort() : ports.operations
        let configuration = DemoConfiguration(gatewayPort: gatewayPort, ports: bound, folder: folder, random: random)
        try configuration.writeSecrets(files)
        servers.google.serve(configuration.google(key: try await googleKey, clock: clock))
        servers.github.serve(configuration.github(clock: clock))
        servers.microsoft.serve(configuration.microsoft(key: try await microsoftKey, clock: clock))
        servers.app.serve(configuration.app(clock: clock))
        return DemoWorld(
            ports: bound,
            configurationText: configuration.text(caFile: caFile),
            caFile: caFile,
            servers: servers.all,
        )
    }

    /// Closes every port and connection.
    package func stop() {
        for server in self.servers { server.stop() }
    }

    /// Binds all ports or none.
    private static func bind(_ ports: Ports, tls: NIOSSLContext) async throws -> DemoServers {
        var all: [DemoServer] = []
        do {
            for port in [ports.google, ports.github, ports.microsoft] {
                all.append(try await DemoServer.bind(port: port, tls: tls))
            }
            for port in [ports.googlePages, ports.githubPages, ports.microsoftPages, ports.app] {
                all.append(try await DemoServer.bind(port: port, tls: nil))
            }
            return DemoServers(
                google: DemoServers.Pair(full: all[0], pages: all[3]),
                github: DemoServers.Pair(full: all[1], pages: all[4]),
                microsoft: DemoServers.Pair(full: all[2], pages: all[5]),
                app: all[6],
            )
        } catch {
            for server in all { server.stop() }
            throw error
        }
    }

    private static func freePort() async throws -> Int {
        let server = try await DemoServer.bind(port: 0, tls: nil)
        server.stop()
        return server.port
    }
}

/// The servers of the demo, bound.
private struct DemoServers {
    /// A provider's two servers: everything over TLS, and what browsers see in clear.
    struct Pair {
        let full: DemoServer
        let pages: DemoServer

        func serve(_ provider: DemoProvider) {
            self.full.serve { provider.page($0) ?? provider.rest($0) }
            self.pages.serve { provider.page($0) ?? .text("Only the pages for browsers are here.\n", status: 404) }
        }
    }

    let google: Pair
    let github: Pair
    let microsoft: Pair
    let app: DemoServer

    var all: [DemoServer] {
        [self.google, self.github, self.microsoft].flatMap { [$0.full, $0.pages] } + [self.app]
    }

    var ports: DemoWorld.Ports {
        DemoWorld.Ports(
            google: self.google.full.port,
            github: self.github.full.port,
            microsoft: self.microsoft.full.port,
            googlePages: self.google.pages.port,
            githubPages: self.github.pages.port,
            microsoftPages: self.microsoft.pages.port,
            app: self.app.port,
        )
    }
}

/// Files of the demo, for the owner alone.
struct DemoFiles {
    let folder: String

    init(folder: String) throws {
        self.folder = folder
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: owner)
    }

    /// Writes a file anew; returns its path.
    func write(_ text: String, name: String) throws -> String {
        let path = "\(self.folder)/\(name)"
        try? FileManager.default.removeItem(atPath: path)
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: owner) else {
            throw Failure(.internalFault, "demo.file", "cannot write \(path)")
        }
        return path
    }
}
