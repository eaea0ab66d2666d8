// SPDX-License-Identifier: Apache-2.0

internal import GateProxy
internal import NIOCore

/// Links to the masters of a Redis Cluster; confined to an event loop.
///
/// Commands go to the masters of their keys at the same time; the commands for one master are run in their order. One
/// more connection, to any node, has the subscriptions and runs the commands without a key: a message that is published
/// at one node reaches all of them. The map of the slots is read again when a link breaks and when a node redirects a
/// command, until each slot has a master that is reached.
final class RedisCluster: RedisTopology {
    /// The maximum number of redirections of a command.
    static let maxRedirections = 5
    /// The maximum number of calls that wait for the first map.
    private static let maxWaiting = 10_000
    /// How long to wait before the map is read again, at first and at most: whatever asks for it, as each failed command
    /// does, it is read no more often.
    private static let refreshPause = (least: TimeAmount.milliseconds(200), most: TimeAmount.seconds(1))

    /// Commands that are sent to several nodes.
    private final class Exchange {
        let commands: [RedisCommand]
        private let completion: ([RedisReply]) -> Void
        private var results: [RedisReply]
        /// The number of commands without their final result.
        private var left: Int
        var redirections: [Int]

        init(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void) {
            self.commands = commands
            self.completion = completion
            self.results = [RedisReply](repeating: .success(.null), count: commands.count)
            self.redirections = [Int](repeating: 0, count: commands.count)
            self.left = commands.count
        }

        /// Notes the final result of some commands, and calls back with the last one.
        func finish(_ indices: [Int], _ result: RedisReply) {
            for index in indices { self.results[index] = result }
            self.left -= indices.count
            if self.left == 0 { self.completion(self.results) }
        }

        func fail(_ failure: RedisFailure) { self.finish(Array(self.commands.indices), .failure(failure)) }
    }

    private let seeds: [UpstreamTarget]
    private let dialer: RedisDialer
    private let loop: any EventLoop
    private let plan: RedisLinkPlan
    private var slots = ClusterSlots()
    private var links: [UpstreamTarget: RedisLink] = [:]
    /// The nodes whose last connection attempt has failed.
    private var missing: Set<UpstreamTarget> = []
    /// The link without keys.
    private var control: RedisLink?
    /// The node of the link without keys.
    private var controlNode: UpstreamTarget?
    private var nextNode = Int.random(in: 0..<1024)
    private var waiting: [Exchange] = []
    private var isRefreshing = false
    private var refresh: Scheduled<Void>?
    /// The pause after the next read, which grows until something changes.
    private var pause = RedisCluster.refreshPause.least
    private var nextRead = NIODeadline.distantPast
    /// Why the last read of the map has failed; nil if it has not, or was not begun.
    private var mapFailure: RedisFailure?
    private var isClosed = false

    /// Links that are not connected.
    ///
    /// - Parameters:
    ///   - seeds: Some of the nodes; at least one.
    ///   - dialer: How to connect.
    ///   - loop: The event loop.
    ///   - plan: How a connection begins; the subscriptions are those of one connection.
    init(_ seeds: [UpstreamTarget], over dialer: RedisDialer, on loop: any EventLoop, plan: RedisLinkPlan) {
        self.seeds = seeds
        self.dialer = dialer
        self.loop = loop
        var (controlPlan, linkPlan) = (plan, plan)
        linkPlan.subscriptions = [:]
        self.plan = linkPlan
        // A node that is cut off from the others would publish to itself only.
        controlPlan.check = .init(commands: [RedisCommand("CLUSTER", "INFO")]) { replies in
            let text = replies[0].bytes.map { String(decoding: $0, as: UTF8.self) }
            guard text?.contains("cluster_state:ok") == true else {
                return RedisFailure(.lost, "the node is cut off from the cluster")
            }
            return nil
        }
        let closed: EventLoopFuture<any Channel> = loop.makeFailedFuture(RedisFailure.closed)
        self.control = RedisLink(controlPlan, on: loop, events: .init(up: { [weak self] in self?.connected() })) {
            [weak self] in self?.dialControl() ?? closed
        }
    }

    /// Connects.
    func start() {
        self.control?.start()
        self.readMap()
    }

    var parts: [any RedisTopology] { self.slots.masters.map { self.link(to: $0) } }

    /// Sends each command to the master of its key.
    func run(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void) {
        let exchange = Exchange(commands, completion: completion)
        guard !self.isClosed else { return exchange.fail(.closed) }
        guard self.slots.masters.isEmpty else { return self.route(exchange) }
        // No command waits for more than an attempt to read the map.
        if let mapFailure, .now() < self.nextRead { return exchange.fail(mapFailure) }
        guard self.waiting.count < Self.maxWaiting else {
            return exchange.fail(RedisFailure(.unreachable, "too many commands wait for the nodes"))
        }
        self.waiting.append(exchange)
        self.readMap()
    }

    /// Closes all connections.
    func close() {
        self.isClosed = true
        self.refresh?.cancel()
        self.control?.close()
        for link in self.links.values { link.close() }
        self.failWaiting(.closed)
    }

    private func failWaiting(_ failure: RedisFailure) {
        let left = self.waiting
        self.waiting = []
        for exchange in left { exchange.fail(failure) }
    }
}

// MARK: Commands

extension RedisCluster {
    private func route(_ exchange: Exchange) {
        var parts: [UpstreamTarget?: [Int]] = [:]
        for (index, command) in exchange.commands.enumerated() {
            guard let key = command.key else {
                parts[nil, default: []].append(index)
                continue
            }
            let slot = ClusterSlots.slot(of: key)
            if let master = self.slots.master(of: slot) {
                parts[master, default: []].append(index)
            } else {
                self.readMap()
                exchange.finish([index], .failure(RedisFailure(.unreachable, "no node has the slot \(slot)")))
            }
        }
        for (target, indices) in parts { self.send(indices, of: exchange, to: target) }
    }

    /// Sends some commands to a node, nil for any node.
    private func send(_ indices: [Int], of exchange: Exchange, to target: UpstreamTarget?, asking: Bool = false) {
        let link = target.map { self.link(to: $0) } ?? self.control
        // A node that a slot moves to accepts a command for it only after `ASKING`.
        let commands = indices.flatMap { index in
            (asking ? [RedisCommand("ASKING")] : []) + [exchange.commands[index]]
        }
        link?.send(commands) { [weak self] result in
            guard let self else { return exchange.finish(indices, .failure(.closed)) }
            switch result {
            case .failure(let failure):
                self.readMap()
                exchange.finish(indices, .failure(target.map { failure.at($0.placeText) } ?? failure))
            case .success(let replies):
                for (position, index) in indices.enumerated() {
                    self.received(replies[asking ? 2 * position + 1 : position], for: index, of: exchange, from: target)
                }
            }
        }
    }

    private func received(_ reply: RESPValue, for index: Int, of exchange: Exchange, from target: UpstreamTarget?) {
        if case .error(let text) = reply, let redirection = ClusterRedirection(text) {
            if self.redirect(index, of: exchange, redirection, from: target) { return }
        }
        if case .error(let text) = reply, text.hasPrefix("CLUSTERDOWN") { self.readMap() }
        exchange.finish([index], .success(reply))
    }

    /// Sends a command to another node; false if that was done too often.
    private func redirect(
        _ index: Int,
        of exchange: Exchange,
        _ redirection: ClusterRedirection,
        from target: UpstreamTarget?
    ) -> Bool {
        exchange.redirections[index] += 1
        guard !self.isClosed, exchange.redirections[index] <= Self.maxRedirections else { return false }
        switch redirection {
        case .moved(let slot, let host, let port):
            guard let next = self.target(host, port, of: target) else { return false }
            self.slots.assign(slot, to: next)
            self.readMapSoon()
            self.send([index], of: exchange, to: next)
        case .ask(let host, let port):
            guard let next = self.target(host, port, of: target) else { return false }
            self.send([index], of: exchange, to: next, asking: true)
        }
        return true
    }
}

// MARK: Nodes

extension RedisCluster {
    /// The node that another node has named; without a host it is on the machine of that one.
    private func target(_ host: [UInt8]?, _ port: Int64, of node: UpstreamTarget?) -> UpstreamTarget? {
        if let host, !host.isEmpty { return self.dialer.target(host: host, port: port) }
        guard case .tcp(let own, _)? = node?.place else { return nil }
        return self.dialer.target(host: Array(own.utf8), port: port)
    }

    private func link(to target: UpstreamTarget) -> RedisLink {
        if let known = self.links[target] { return known }
        let link = RedisLink(
            self.plan,
            on: self.loop,
            events: .init(
                up: { [weak self] in self?.missing.remove(target) },
                down: { [weak self] _ in
                    guard let self else { return }
                    if self.missing.insert(target).inserted { self.readMapSoon() } else { self.readMap() }
                }
            )
        ) { [dialer] in
            dialer.connect(to: target)
        }
        self.links[target] = link
        link.start()
        return link
    }

    /// Connects to the known nodes in turn.
    private func dialControl() -> EventLoopFuture<any Channel> {
        let nodes = self.slots.nodes + self.seeds.filter { !self.slots.nodes.contains($0) }
        self.nextNode = (self.nextNode + 1) % nodes.count
        let node = nodes[self.nextNode]
        self.controlNode = node
        return self.dialer.connect(to: node)
    }

    /// The link without keys is up, so a node can be asked at once.
    private func connected() {
        self.nextRead = .distantPast
        self.readMapSoon()
    }

    /// Reads the map after the least pause: something has changed.
    private func readMapSoon() {
        self.pause = Self.refreshPause.least
        self.nextRead = min(self.nextRead, .now() + self.pause)
        self.refresh?.cancel()
        self.refresh = nil
        self.readMap()
    }

    /// Reads which node has which slot, one request at a time, when the pause after the last one is over.
    private func readMap() {
        guard !self.isRefreshing, !self.isClosed else { return }
        guard self.nextRead <= .now() else { return self.scheduleRead() }
        self.refresh?.cancel()
        self.refresh = nil
        self.isRefreshing = true
        self.control?.send([.clusterSlots]) { [weak self] result in self?.received(result) }
    }

    private func scheduleRead() {
        guard self.refresh == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.refresh = self.loop.scheduleTask(deadline: self.nextRead) {
            bound.value.refresh = nil
            bound.value.readMap()
        }
    }

    private func received(_ result: Result<[RESPValue], RedisFailure>) {
        self.isRefreshing = false
        guard !self.isClosed else { return }
        self.nextRead = .now() + self.pause
        self.mapFailure = self.adopt(result)
        if let mapFailure { self.failWaiting(mapFailure) }
        guard self.mapFailure != nil || !self.slots.isComplete || !self.missing.isEmpty else {
            self.pause = Self.refreshPause.least
            return
        }
        self.pause = min(self.pause * 2, Self.refreshPause.most)
        self.scheduleRead()
    }

    /// Adopts the map in a reply; returns why that fails.
    private func adopt(_ result: Result<[RESPValue], RedisFailure>) -> RedisFailure? {
        switch result {
        case .failure(let failure): return failure
        case .success(let replies):
            if case .error(let text)? = replies.first { return RedisFailure(reply: text) }
            guard let reply = replies.first, let map = self.map(reply), !map.masters.isEmpty else {
                return RedisFailure(.unreachable, "the map of the cluster has no slots yet, or is too large")
            }
            self.adopt(map)
            return nil
        }
    }

    private func map(_ reply: RESPValue) -> ClusterSlots? {
        let node = self.controlNode
        return ClusterSlots(reply) { host, port in self.target(host, port, of: node) }
    }

    private func adopt(_ map: ClusterSlots) {
        self.slots = map
        for (target, link) in self.links where !map.masters.contains(target) {
            self.links[target] = nil
            self.missing.remove(target)
            link.close(RedisFailure(.unreachable, "\(target.placeText) is not a master any more"))
        }
        for master in map.masters { _ = self.link(to: master) }
        let left = self.waiting
        self.waiting = []
        for exchange in left { self.route(exchange) }
    }
}
