// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateOpenID
internal import GatePolicy
internal import GateProviderHTTP

/// Asks each app at its public URL as a client without a session would, so that one that can be opened without a sign-in
/// is found: behind an old server block of nginx, for example, that still leads to the app itself.
///
/// Each host of an app is asked once, for the path of the app. At most eight are asked at a time, for 30 seconds in all.
package struct AppDiagnostics: Sendable {
    private static let atOnce = 8
    private static let maxHosts = 500
    private static let total = Duration.seconds(30)
    private static let timePerCall = Duration.seconds(4)
    private static let bodyLimit = 1 << 20

    /// One URL to ask.
    private struct Question: Sendable {
        let app: String
        let url: WebURL
        /// Whether clients of some networks need no sign-in, such as this one.
        let opensToNetworks: Bool
    }

    private let settled: [ProviderFinding]
    private let questions: [Question]
    private let gateway: Origin
    private let endpoints: EndpointPrefix

    package init(of configuration: Configuration) {
        self.gateway = configuration.gateway.publicURL
        self.endpoints = configuration.gateway.endpoints
        var settled: [ProviderFinding] = []
        var questions: [Question] = []
        for app in configuration.apps {
            let name = app.route.app
            if let reason = AppDiagnostics.reasonNotToAsk(app) {
                settled.append(ProviderFinding(name, .app, .unasked, reason))
                continue
            }
            for case .exact(let host) in app.route.origins.hosts {
                guard let url = WebURL("\(app.route.origins.text(of: host))\(app.route.path)") else { continue }
                questions.append(Question(app: name, url: url, opensToNetworks: app.route.opensToNetworks))
            }
        }
        self.settled = settled
        self.questions = Array(questions.prefix(AppDiagnostics.maxHosts))
    }

    private static func reasonNotToAsk(_ app: AppSettings) -> String? {
        let path = Array(app.route.path.utf8)
        if app.route.isOpen(method: "GET", path: path.span) { return "'\(app.route.path)' is public" }
        if app.action == .forwardAuth(.shadow) { return "it is in shadow mode, so requests pass without a sign-in" }
        let hasHost = app.route.origins.first != nil
        return hasHost ? nil : "it has wildcards only; ask one of its hosts for a page without a session"
    }

    /// Asks, and returns a finding for each host, in the order of the file.
    package func lines() async throws(Failure) -> [ProviderFinding] {
        guard !self.questions.isEmpty else { return self.settled }
        let transport = try CurlTransport(to: "apps", trust: ProviderTrust(), allowsPlainHTTP: true)
        defer { transport.shutdown() }
        let apps = Dictionary(self.questions.map { ($0.app, transport) }) { first, _ in first }
        return await self.lines(over: ProviderTransports(apps))
    }

    /// The same over a transport.
    package func lines(over transport: some ProviderTransport) async -> [ProviderFinding] {
        let deadline = ContinuousClock.now + Self.total
        let found = await withTaskGroup(of: (index: Int, finding: ProviderFinding).self) { group in
            var found: [Int: ProviderFinding] = [:]
            for (index, question) in self.questions.enumerated() {
                if index >= Self.atOnce, let one = await group.next() { found[one.index] = one.finding }
                group.addTask { (index, await self.finding(about: question, over: transport, until: deadline)) }
            }
            for await one in group { found[one.index] = one.finding }
            return found
        }
        return self.settled + self.questions.indices.compactMap { found[$0] }
    }

    private func finding(
        about question: Question,
        over transport: some ProviderTransport,
        until deadline: ContinuousClock.Instant
    ) async -> ProviderFinding {
        let timeLeft = min(Self.timePerCall, ContinuousClock.now.duration(to: deadline))
        guard timeLeft > .zero else {
            return ProviderFinding(question.app, .app, .unasked, "\(question.url): no time was left to ask")
        }
        let request = ProviderRequest(
            method: "GET",
            address: question.url,
            // A script gets 401 of the gateway, which no other server sends in this form.
            headers: [("Accept", "application/json"), ("User-Agent", "gatehouse-check")],
            body: nil,
            limit: Self.bodyLimit,
            timeout: timeLeft
        )
        do throws(Failure) {
            return self.finding(about: question, try await transport.response(to: request, provider: question.app))
        } catch {
            let isLarge = error.reason == .providerTooLarge || error.reason == .providerResponseTooLarge
            guard !isLarge else { return self.open(question, "a large response") }
            return ProviderFinding(
                question.app,
                .app,
                .unasked,
                "\(question.url) was not reached from here: \(error.detail)"
            )
        }
    }

    private func finding(about question: Question, _ response: ProviderResponse) -> ProviderFinding {
        let url = question.url
        if let code = AppDiagnostics.code(of: response) {
            guard response.status != 404 else {
                let help = "the gateway that runs has another file, or has not loaded this one"
                return ProviderFinding(question.app, .app, .warning, "\(url): \(code); \(help)")
            }
            return ProviderFinding(question.app, .app, .good, "\(url) needs a sign-in (\(response.status) \(code))")
        }
        switch response.status {
        case 300..<400:
            let location = response.header("location") ?? ""
            let path =
                location.hasPrefix("\(self.gateway)/") ? location.dropFirst("\(self.gateway)".count) : location[...]
            guard !path.hasPrefix("\(self.endpoints)/") else {
                return ProviderFinding(question.app, .app, .good, "\(url) needs a sign-in (\(response.status))")
            }
            guard let target = WebURL(location), target.origin.host != url.origin.host else {
                return self.open(question, "\(response.status)")
            }
            return ProviderFinding(question.app, .app, .warning, "\(url) leads to \(location), and not to a sign-in")
        case ..<300: return self.open(question, "\(response.status)")
        default:
            let help = "is this the gateway's response, or that of another server block or host?"
            return ProviderFinding(question.app, .app, .warning, "\(url) responds \(response.status); \(help)")
        }
    }

    private func open(_ question: Question, _ status: String) -> ProviderFinding {
        guard !question.opensToNetworks else {
            let reason = "its 'public' names networks; ask from outside of them"
            return ProviderFinding(
                question.app,
                .app,
                .warning,
                "\(question.url) responds \(status) without a sign-in: \(reason)"
            )
        }
        let help = "remove what still leads to the app beside the gateway, such as an old server block for this host"
        return ProviderFinding(
            question.app,
            .app,
            .failure,
            "\(question.url) responds \(status) without a sign-in, and not by the gateway; \(help)"
        )
    }

    /// The code of a response that the gateway made itself; nil for any other.
    private static func code(of response: ProviderResponse) -> String? {
        guard response.status >= 400, response.header("content-type")?.hasPrefix("application/json") == true,
            let json = try? JSON(parsing: response.body), json["incident"]?.string != nil
        else { return nil }
        return json["error"]?.string
    }
}
