// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import GateCore
internal import GateNet
internal import GateProxy
internal import NIOCore
internal import Synchronization

/// Sends commands to Redis servers from anywhere; their connections have a thread of their own.
final class RedisClient: Sendable {
    private let group: SocketLoopGroup
    private let loop: any EventLoop
    private let topology: NIOLoopBound<any RedisTopology>
    /// While this is locked and true, the loop runs what it is given.
    private let isOpen = Mutex(true)
    /// Whether the server of the last command was a replica.
    let isReadOnly = Atomic(false)
    /// The servers, as messages name them.
    let name: String

    private init(group: SocketLoopGroup, loop: any EventLoop, topology: NIOLoopBound<any RedisTopology>, name: String) {
        self.group = group
        self.loop = loop
        self.topology = topology
        self.name = name
    }

    /// Starts to connect; does not wait for a connection.
    ///
    /// - Parameters:
    ///   - settings: The servers.
    ///   - loaded: What the files for TLS hold.
    ///   - subscriptions: What is called with the messages of channels.
    /// - Returns: The client, which has no connection yet.
    /// - Throws: A `Failure` when the process has no descriptor left.
    static func start(
        _ settings: RedisSettings,
        _ loaded: LoadedUpstream,
        subscriptions: RedisSubscriptions
    ) async throws(Failure) -> RedisClient {
        let group: SocketLoopGroup
        do throws(SocketError) {
            group = try SocketLoopGroup(count: 1)
        } catch {
            throw Failure(.gatewayEventLoops, "cannot start the event loop of the session store: \(error)")
        }
        let loop = group.next()
        do {
            let topology = try await loop.submit {
                let topology = RedisClient.topology(settings, loaded, on: loop, subscriptions: subscriptions)
                topology.start()
                return NIOLoopBound(topology, eventLoop: loop)
            }.get()
            return RedisClient(group: group, loop: loop, topology: topology, name: settings.name)
        } catch {
            throw Failure(.gatewayEventLoops, "the event loop of the session store does not run: \(error)")
        }
    }

    private static func topology(
        _ settings: RedisSettings,
        _ loaded: LoadedUpstream,
        on loop: any EventLoop,
        subscriptions: RedisSubscriptions
    ) -> any RedisTopology {
        func plan(_ greeting: [RedisCommand]) -> RedisLinkPlan {
            let (command, connect) = (TimeAmount(settings.commandTime), TimeAmount(settings.connectTime))
            return RedisLinkPlan(greeting: greeting, commandTime: command, connectTime: connect)
        }
        let dialer = RedisDialer(loaded, on: loop)
        let select = RedisCommand("SELECT").with(Int64(settings.database))
        var data = plan([self.hello(settings.credentials)] + (settings.database == 0 ? [] : [select]))
        data.subscriptions = subscriptions
        switch settings.servers {
        case .one(let target):
            (data.firstCheck, data.check) = (.isMasterOrWritable, .isNotReplica)
            let dial: RedisMasterLink.Dial = { dialer.connect(to: target) }
            return RedisMasterLink(data, on: loop, dial: dial, again: dial)
        case .cluster(let nodes): return RedisCluster(nodes, over: dialer, on: loop, plan: data)
        case .sentinels(let sentinels, let master):
            let plans = (sentinel: plan([self.hello(settings.sentinelCredentials)]), master: data)
            return RedisSentinels(sentinels, master: master, over: dialer, on: loop, plans: plans)
        }
    }

    /// `HELLO` switches to RESP3 and signs in; the name shows in `CLIENT LIST`.
    private static func hello(_ credentials: RedisSettings.Credentials?) -> RedisCommand {
        var hello = RedisCommand("HELLO", "3")
        if let credentials {
            hello = hello.with("AUTH").with(credentials.user ?? "default")
            hello = credentials.password.withBytes { hello.with($0) }
        }
        return hello.with("SETNAME").with("gatehouse")
    }

    /// The replies to commands, one for each; they are sent together, and once more if their connection is lost.
    ///
    /// So running a command twice must have the same effect as running it once.
    ///
    /// - Parameter commands: The commands.
    /// - Returns: The replies, none of them an error; or why not.
    func outcome(of commands: [RedisCommand]) async -> Result<[RESPValue], RedisFailure> {
        let results = await self.results(of: commands)
        let failures = results.compactMap(\.failure)
        // What may have run counts, also if another one was rejected.
        if let failure = failures.first(where: { $0.kind == .lost }) ?? failures.first { return .failure(failure) }
        return .success(results.compactMap(\.value))
    }

    /// The results of commands, one for each, sent as by ``outcome(of:)``; some of them may fail while others succeed.
    func results(of commands: [RedisCommand]) async -> [RedisReply] {
        guard !commands.isEmpty else { return [] }
        let first = await self.attempt(commands)
        // All of them, since one may rely on one before it.
        guard first.contains(where: { $0.failure?.mayRetry == true }) else { return first }
        return await self.attempt(commands)
    }

    /// The results of any number of commands, which are sent in parts, so that none takes too long.
    func results(of commands: [RedisCommand], inPartsOf count: Int) async -> [RedisReply] {
        var results: [RedisReply] = []
        for start in stride(from: 0, to: commands.count, by: count) {
            results += await self.results(of: Array(commands[start..<min(start + count, commands.count)]))
        }
        return results
    }

    private func attempt(_ commands: [RedisCommand]) async -> [RedisReply] {
        let results = await self.onLoop { topology, completion in topology.run(commands, completion: completion) }
        return (results ?? commands.map { _ in .failure(.closed) }).map { result in
            let result = result.flatMap(RedisFailure.checked)
            switch result {
            case .success: self.isReadOnly.store(false, ordering: .relaxed)
            case .failure(let failure) where failure.kind == .readOnly: self.isReadOnly.store(true, ordering: .relaxed)
            case .failure: break
            }
            return result
        }
    }

    /// The number of masters.
    func partCount() async -> Int {
        await self.onLoop { (topology, completion: @escaping (Int) -> Void) in completion(topology.parts.count) } ?? 0
    }

    /// The result of a command at one of the masters, which is the only one unless the servers are a cluster.
    func result(of command: RedisCommand, atPart part: Int) async -> RedisReply {
        let result = await self.onLoop { (topology, completion: @escaping (RedisReply?) -> Void) in
            guard topology.parts.indices.contains(part) else { return completion(nil) }
            topology.parts[part].run([command]) { completion($0.first) }
        }
        return (result.flatMap(\.self) ?? .failure(.closed)).flatMap(RedisFailure.checked)
    }

    /// Calls `body` on the thread of the connections, and waits until it calls back; nil if the store is closed.
    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (any RedisTopology, _ completion: @escaping (Value) -> Void) -> Void
    ) async -> Value? {
        let (loop, topology) = (self.loop, self.topology)
        return await withCheckedContinuation { continuation in
            self.isOpen.withLock { isOpen in
                guard isOpen else { return continuation.resume(returning: nil) }
                loop.execute { body(topology.value) { continuation.resume(returning: $0) } }
            }
        }
    }

    /// The replies to commands, as ``outcome(of:)`` gets them.
    ///
    /// - Throws: `session.store_unavailable` if there is no connection, a reply is late or an error.
    func replies(to commands: [RedisCommand]) async throws(Failure) -> [RESPValue] {
        switch await self.outcome(of: commands) {
        case .success(let replies): return replies
        case .failure(let failure): throw self.unavailable(failure.reason)
        }
    }

    /// The replies to commands about different keys; nil for a value that Redis rejects or that is too large, which must not
    /// fail the others.
    ///
    /// - Throws: `session.store_unavailable` if there is no connection or a reply is late.
    func values(of commands: [RedisCommand], inPartsOf count: Int) async throws(Failure) -> [RESPValue?] {
        let results = await self.results(of: commands, inPartsOf: count)
        if let failure = results.lazy.compactMap(\.failure).first(where: { $0.kind != .rejected }) {
            throw self.unavailable(failure.reason)
        }
        return results.map(\.value)
    }

    /// The replies to any number of commands, which are sent in parts, so that none takes too long.
    func replies(to commands: [RedisCommand], inPartsOf count: Int) async throws(Failure) -> [RESPValue] {
        var replies: [RESPValue] = []
        for start in stride(from: 0, to: commands.count, by: count) {
            replies += try await self.replies(to: Array(commands[start..<min(start + count, commands.count)]))
        }
        return replies
    }

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

    /// Closes the connection and ends the thread; every later call throws.
    func close() async {
        let (loop, topology, group) = (self.loop, self.topology, self.group)
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        _ = try? await loop.submit { topology.value.close() }.get()
        await withCheckedContinuation { continuation in
            group.shutdownGracefully(queue: .global()) { _ in continuation.resume() }
        }
    }
}
