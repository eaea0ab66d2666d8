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
        /// The sample app, plain http.
        package var app: Int
        /// The gateway's operations address, which the configuration names; nothing of the demo listens there.
        package var operations: Int

        /// Names the ports; each is free to choose unless given.
        package init(google: Int = 0, github: Int = 0, microsoft: Int = 0, app: Int = 0, operations: Int = 0) {
            self.google = google
            self.github = github
            self.microsoft = microsoft
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
        var bound = Ports()
        (bound.google, bound.github) = (servers.google.port, servers.github.port)
        (bound.microsoft, bound.app) = (servers.microsoft.port, servers.app.port)
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
            all.append(try await DemoServer.bind(port: ports.app, tls: nil))
            return DemoServers(google: all[0], github: all[1], microsoft: all[2], app: all[3])
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
    let google: DemoServer
    let github: DemoServer
    let microsoft: DemoServer
    let app: DemoServer

    var all: [DemoServer] { [self.google, self.github, self.microsoft, self.app] }
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
