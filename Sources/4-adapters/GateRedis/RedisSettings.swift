// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProxy
internal import NIOCore

/// The Redis servers of a store, and how to sign in there.
package struct RedisSettings: Sendable, Hashable {
    /// Where the data is.
    package enum Servers: Sendable, Hashable {
        /// On one server.
        case one(UpstreamTarget)
        /// On the server that these sentinels name as the master with a name.
        case sentinels([UpstreamTarget], master: String)
        /// On a cluster, of which these are some of the nodes.
        case cluster([UpstreamTarget])
    }

    /// A name and a password; the default user has no name.
    package struct Credentials: Sendable, Hashable {
        /// The ACL user; nil for the default user.
        package var user: String?
        package var password: Secret

        package init(user: String?, password: Secret) {
            self.user = user
            self.password = password
        }
    }

    /// Where the data is.
    package var servers: Servers
    /// The user of the servers with the data; nil for servers without passwords.
    package var credentials: Credentials?
    /// The user of the sentinels; nil for sentinels without passwords.
    package var sentinelCredentials: Credentials?
    /// The number of the database; 0 in a cluster.
    package var database = 0
    /// The trusted and presented certificates; nil for the defaults, and for servers without TLS.
    package var tls: UpstreamTLS.Settings?

    /// How long commands may take once they are sent.
    package var commandTime = Duration.milliseconds(300)
    /// How long a connection attempt may take, and with it the commands that wait for it.
    package var connectTime = Duration.milliseconds(500)

    /// Servers without a password.
    package init(_ servers: Servers) {
        self.servers = servers
    }

    /// A server without a password.
    package init(target: UpstreamTarget) {
        self.init(.one(target))
    }

    /// The addresses of the settings.
    package var targets: [UpstreamTarget] {
        switch self.servers {
        case .one(let target): [target]
        case .sentinels(let targets, _), .cluster(let targets): targets
        }
    }

    /// Whether the servers speak TLS.
    package var isSecure: Bool { self.targets.contains(where: \.isSecure) }

    /// Reads the files for TLS; equal results have the same content.
    ///
    /// - Throws: A `Failure` naming the file that cannot be read.
    package func loaded() throws(Failure) -> LoadedUpstream {
        var upstream = UpstreamSettings(targets: self.targets)
        upstream.limits.connect = TimeAmount(self.connectTime)
        // After a fail-over by DNS the name leads to another server.
        upstream.dnsTTL = .seconds(1)
        upstream.tls = self.tls ?? UpstreamTLS.Settings()
        upstream.tls?.offersHTTP = false
        return try LoadedUpstream(upstream)
    }

    /// The servers, as messages name them.
    package var name: String {
        let places = self.targets.map(\.placeText).joined(separator: ",")
        return switch self.servers {
        case .one: "redis \(places)"
        case .sentinels(_, let master): "redis '\(master)' of the sentinels \(places)"
        case .cluster: "redis cluster \(places)"
        }
    }
}

extension UpstreamTarget {
    /// Host and port, or the path of a socket.
    var placeText: String {
        switch self.place {
        case .tcp(let host, let port): "\(host):\(port)"
        case .unix(let path): path
        }
    }
}
