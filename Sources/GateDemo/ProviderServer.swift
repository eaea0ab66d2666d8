// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What all simulated providers of a process share.
struct SimulatorTools {
    let key: RSASigningKey
    let clock: WallClock
    let random: RandomBytes
    /// The folder of secrets and keys.
    let folder: String
}

/// The two servers of a simulated provider: all endpoints over TLS, and those for browsers over plain HTTP.
struct ProviderServer: Sendable {
    let provider: SimulatedProvider
    let full: DemoServer
    let pages: DemoServer
    private let counter = RequestCounter()

    init(provider: SimulatedProvider, full: DemoServer, pages: DemoServer) {
        self.provider = provider
        self.full = full
        self.pages = pages
    }

    /// The provider at the ports of these servers, with a new client.
    func context(
        _ tools: SimulatorTools,
        callback: String,
        quirks: DemoQuirks,
        secret: String? = nil,
    ) -> SimulatorContext {
        SimulatorContext(
            urls: SimulatorURLs(
                base: "https://localhost:\(self.full.port)",
                pages: "http://localhost:\(self.pages.port)",
            ),
            client: DemoClient(
                id: self.provider.clientID,
                secret: Secret(text: secret ?? tools.random.token(24)),
                callback: callback,
                name: self.provider.name,
                folder: tools.folder,
            ),
            key: tools.key.named(self.provider.name),
            grants: DemoGrants(clock: tools.clock),
            clock: tools.clock,
            random: tools.random,
            quirks: quirks,
        )
    }

    /// Responds as the provider does.
    func serve(_ context: SimulatorContext) {
        let counter = self.counter
        let simulator = ProviderSimulator(self.provider.traits(context), context: context)
        let injector = QuirkInjector(simulator, context: context)
        self.full.serve { request in
            counter.count(request)
            if let page = injector.page(for: request) { return page }
            await injector.delay(before: request)
            return injector.response(to: request)
        }
        self.pages.serve { request in
            counter.count(request)
            guard request.path != RequestCounter.path else { return counter.response }
            return injector.page(for: request) ?? .text("This port only has the pages for browsers.\n", status: 404)
        }
    }

    func stop() {
        self.full.stop()
        self.pages.stop()
    }
}
