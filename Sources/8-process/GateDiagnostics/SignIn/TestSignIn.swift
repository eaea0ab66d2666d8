// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateNet
package import GateOpenID
internal import GateOperations
internal import GateProviderHTTP
package import GateProviders
internal import GateWire
internal import HTTPTypes
internal import NIOCore
internal import Synchronization

/// One real sign-in with one provider, on a redirect to this machine.
///
/// RFC 8252 §7.3. Nothing is kept, no session begins, and the operator uses their own browser.
package final class TestSignIn: Sendable {
    /// How a test sign-in ended.
    package enum Outcome: Sendable {
        /// The sign-in succeeded.
        case signedIn(Findings)
        /// The sign-in failed.
        case failed(Failure)
        /// The browser did not come back in time.
        case timedOut
    }

    /// What the provider returned about the user.
    package struct Findings: Sendable {
        /// The user.
        package let signIn: SignIn
        /// Where each field of the profile came from.
        package let mapped: MappedProfile
        /// What was granted, and for how long.
        package let tokens: VerifiedTokens
        /// What could not be read, each a sentence without secrets.
        package let notes: [String]
    }

    /// The address to open in a browser.
    package let address: String
    /// The callback that has to be registered at the provider.
    package let callback: String

    private let party: RelyingParty
    private let transports: ProviderTransports
    private let group: SocketLoopGroup
    private let attempt = Mutex<Attempt?>(nil)
    private let outcomes: AsyncStream<Outcome>
    private let ended: AsyncStream<Outcome>.Continuation
    private let listeners = Mutex<[Listener]>([])
    /// The path that begins the sign-in; random, so that no other page in the operator's browser can.
    private let start: String

    private init(
        party: RelyingParty,
        transports: ProviderTransports,
        group: SocketLoopGroup,
        base: String,
        start: String
    ) {
        self.party = party
        self.transports = transports
        self.group = group
        self.start = start
        self.address = "\(base)\(start)"
        self.callback = party.redirectURI
        (self.outcomes, self.ended) = AsyncStream.makeStream(of: Outcome.self)
    }

    /// Listens for the browser and makes everything ready.
    ///
    /// - Parameters:
    ///   - settings: The provider.
    ///   - host: The name of this machine in the callback: `localhost` or `127.0.0.1`.
    ///   - port: The port of the callback.
    /// - Returns: The test sign-in; ``outcome(within:)`` waits for its end.
    /// - Throws: A `Failure` that names what is wrong with the provider's settings or with the port.
    package static func begin(
        _ settings: ProviderSettings,
        host: String,
        port: Int
    ) async throws(Failure) -> TestSignIn {
        let base = "http://\(host):\(port)"
        try TestSignIn.check(settings, redirectingTo: base)
        let line = try CurlTransport(to: settings.id, trust: try settings.trust())
        let transports = ProviderTransports([settings.id: line])
        let party = try RelyingParty(
            definition: try ProviderDefinition(settings),
            settings: settings,
            redirectURI: "\(base)\(TestSignIn.callback(of: settings.id))",
            transport: transports,
            clock: .system,
            random: .system
        )
        let group = try SocketLoopGroup.started(1)
        let start = "/\(RandomBytes.system.token(9))"
        let test = TestSignIn(party: party, transports: transports, group: group, base: base, start: start)
        do throws(Failure) {
            try await test.listen(on: "127.0.0.1", port: port)
            if host == "localhost" { try await test.listenAlsoOnVersion6(port: port) }
        } catch {
            await test.end()
            throw error
        }
        return test
    }

    /// The path of the callback of a provider: the usual one, whatever the gateway has, since it is registered for tests alone.
    private static func callback(of provider: String) -> String { EndpointPrefix.standard.path("callback/\(provider)") }

    /// A provider that rejects such a callback shows the operator its own error page.
    private static func check(_ settings: ProviderSettings, redirectingTo base: String) throws(Failure) {
        guard settings.baseURL == nil, let origin = WebURL(base)?.origin,
            let reason = settings.type.redirects.rejection(of: origin)
        else { return }
        let title = settings.type.title
        throw Failure(
            .providerRedirect,
            "\(title) cannot be tried, since it would reject the callback on \(origin): \(reason); sign in at the "
                + "running gateway instead, and see its log"
        )
    }

    private func listen(on host: String, port: Int) async throws(Failure) {
        let listener = try await Listener.openPlain(host: host, port: port, on: self.group, maxConnections: 16) {
            request,
            body,
            _ in await self.response(to: request, body: body)
        }
        self.listeners.withLock { $0.append(listener) }
    }

    /// Browsers may resolve `localhost` to `::1`, where no other process may receive the code; a machine without IPv6 is fine.
    private func listenAlsoOnVersion6(port: Int) async throws(Failure) {
        do throws(Failure) {
            try await self.listen(on: "::1", port: port)
        } catch {
            guard !error.detail.contains("in use") else { throw error }
        }
    }

    /// Waits for the end of the sign-in, and closes everything.
    package func outcome(within limit: Duration) async -> Outcome {
        let ended = self.ended
        let alarm = Task {
            try await Task.sleep(for: limit)
            ended.yield(.timedOut)
        }
        var result = Outcome.timedOut
        for await outcome in self.outcomes {
            result = outcome
            break
        }
        alarm.cancel()
        // The browser has yet to receive its response.
        try? await Task.sleep(for: .milliseconds(300))
        await self.end()
        return result
    }

    private func end() async {
        for listener in self.listeners.withLock({ $0 }) {
            await listener.close()
        }
        self.transports.shutdown()
        try? await self.group.shutdownGracefully()
    }
}

// MARK: The browser's side

extension TestSignIn {
    private func response(to request: RequestHead, body: [UInt8]) async -> Response {
        switch (request.method, request.path.text(in: request.message)) {
        case (.get, self.start): await self.begin()
        case (.get, TestSignIn.callback(of: self.party.definition.id)):
            await self.finish(Form(encoded: request.queryText ?? ""))
        case (.post, TestSignIn.callback(of: self.party.definition.id)):
            await self.finish(String(validating: body, as: UTF8.self).flatMap { Form(encoded: $0) })
        default: .text(404, "Only the callback of the test sign-in is served here.\n")
        }
    }

    private func begin() async -> Response {
        do throws(Failure) {
            let (location, attempt) = try await self.party.authorization(returnPath: .root, replacedTicket: nil)
            self.attempt.withLock { $0 = attempt }
            // RFC 9110 §15.4.4.
            return Response(303, fields: [.location: location, .referrerPolicy: "no-referrer"])
        } catch {
            return self.close(.failed(error))
        }
    }

    /// Only the callback of the latest attempt ends the test sign-in; any other request is rejected.
    private func finish(_ callback: Form?) async -> Response {
        guard let callback, let attempt = self.attempt.withLock({ $0 }), callback["state"] == attempt.state else {
            return .text(
                400,
                "This callback does not belong to the sign-in that was started here. Start again at \(self.address)\n"
            )
        }
        self.attempt.withLock { $0 = nil }
        do throws(Failure) {
            return self.close(.signedIn(try await self.findings(of: callback, attempt)))
        } catch {
            return self.close(.failed(error))
        }
    }

    private func findings(of callback: Form, _ attempt: Attempt) async throws(Failure) -> Findings {
        let exchange = try await self.party.open(try self.party.accept(callback, of: attempt))
        defer { self.party.close(exchange) }
        let tokens = try await self.party.redeem(exchange)
        let user = try await self.party.user(of: tokens, looksUpGroups: true)
        return Findings(signIn: user.signIn, mapped: user.mapped, tokens: tokens, notes: user.notes)
    }

    private func close(_ outcome: Outcome) -> Response {
        self.ended.yield(outcome)
        return switch outcome {
        case .signedIn: .text(200, "Signed in. The profile is in the terminal; this page can be closed.\n")
        case .failed(let failure): .text(400, "The sign-in failed: \(failure.code). The terminal has the details.\n")
        case .timedOut: .text(400, "It took too long.\n")
        }
    }
}
