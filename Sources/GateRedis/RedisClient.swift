// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import GateCore
internal import GateNet
internal import GateProxy
internal import NIOCore
internal import Synchronization

/// Sends commands to a Redis server from anywhere; its connection has a thread of its own.
final class RedisClient: Sendable {
    private let group: SocketLoopGroup
    private let loop: any EventLoop
    private let link: NIOLoopBound<RedisLink>
    /// While this is locked and true, the loop runs what it is given.
    private let isOpen = Mutex(true)
    /// The server, as messages name it.
    let name: String

    private init(group: SocketLoopGroup, loop: any EventLoop, link: NIOLoopBound<RedisLink>, name: String) {
        self.group = group
        self.loop = loop
        self.link = link
        self.name = name
    }

    /// Starts to connect; does not wait for the connection.
    ///
    /// - Parameters:
    ///   - settings: The server.
    ///   - channel: The publish/subscribe channel to listen to.
    ///   - published: Called with each message of the channel, on the thread of the connection.
    /// - Returns: The client, which has no connection yet.
    /// - Throws: A `Failure` when a file for TLS cannot be read, or the process has no descriptor left.
    static func start(
        _ settings: RedisSettings,
        channel: String,
        published: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(Failure) -> RedisClient {
        var upstream = UpstreamSettings(targets: [settings.target])
        upstream.limits.connect = TimeAmount(settings.connectTime)
        let loaded = try LoadedUpstream(upstream)
        let group: SocketLoopGroup
        do throws(SocketError) {
            group = try SocketLoopGroup(count: 1)
        } catch {
            throw Failure(.gatewayEventLoops, "cannot start the event loop of the session store: \(error)")
        }
        let loop = group.next()
        let greeting = RedisClient.greeting(settings)
        do {
            let link = try await loop.submit {
                let environment = UpstreamEnvironment(loop: loop, sweep: DeadlineSweep())
                let connector = UpstreamConnector(to: settings.target, of: loaded, environment: environment)
                let link = RedisLink(
                    connector,
                    of: settings,
                    on: loop,
                    greeting: greeting,
                    channel: channel,
                    published: published
                )
                link.start()
                return NIOLoopBound(link, eventLoop: loop)
            }.get()
            return RedisClient(group: group, loop: loop, link: link, name: "\(settings.target)")
        } catch {
            throw Failure(.gatewayEventLoops, "the event loop of the session store does not run: \(error)")
        }
    }

    /// `HELLO` switches to RESP3 and signs in; the name shows in `CLIENT LIST`.
    private static func greeting(_ settings: RedisSettings) -> [RedisCommand] {
        var hello = RedisCommand("HELLO", "3")
        if let password = settings.password {
            hello = hello.with("AUTH").with(settings.user ?? "default")
            hello = password.withBytes { hello.with($0) }
        }
        hello = hello.with("SETNAME").with("gatehouse")
        return settings.database == 0 ? [hello] : [hello, RedisCommand("SELECT").with(Int64(settings.database))]
    }

    /// The replies to commands, one for each; they are sent together.
    ///
    /// - Throws: `session.store_unavailable` if there is no connection, a reply is late or an error.
    func replies(to commands: [RedisCommand]) async throws(Failure) -> [RESPValue] {
        guard !commands.isEmpty else { return [] }
        let (loop, link) = (self.loop, self.link)
        let result: Result<[RESPValue], RedisFailure> = await withCheckedContinuation { continuation in
            self.isOpen.withLock { isOpen in
                guard isOpen else {
                    let failure = RedisFailure(reason: "the store is closed", isConnection: false)
                    return continuation.resume(returning: .failure(failure))
                }
                loop.execute { link.value.send(commands) { continuation.resume(returning: $0) } }
            }
        }
        switch result {
        case .failure(let failure): throw self.unavailable(failure.reason)
        case .success(let replies):
            for case .error(let text) in replies { throw self.rejected(text) }
            return replies
        }
    }

    /// The reply to one command.
    func reply(to command: RedisCommand) async throws(Failure) -> RESPValue {
        let replies = try await self.replies(to: [command])
        guard let first = replies.first else { throw self.unavailable("no reply") }
        return first
    }

    /// The failure for a reply that does not fit the command.
    func unexpected(_ command: String) -> Failure { self.unavailable("an unexpected reply to \(command)") }

    /// The failure of kind `overloaded`, which implies nothing about any session.
    func unavailable(_ reason: String) -> Failure {
        Failure(.sessionStoreUnavailable, "\(self.name): \(reason)")
    }

    /// The failure for an error of the server, without the command that some servers repeat.
    private func rejected(_ text: String) -> Failure {
        let end = text.firstRange(of: ", with args")?.lowerBound ?? text.endIndex
        return self.unavailable(String(text[..<end].prefix(200)))
    }

    /// Closes the connection and ends the thread; every later call throws.
    func close() async {
        let (loop, link, group) = (self.loop, self.link, self.group)
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        _ = try? await loop.submit { link.value.close() }.get()
        await withCheckedContinuation { continuation in
            group.shutdownGracefully(queue: .global()) { _ in continuation.resume() }
        }
    }
}
