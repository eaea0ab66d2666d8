// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateAssertion
package import GateConfiguration
package import GateCore
internal import GateOpenID
internal import GateOperations
internal import GatePolicy
internal import GateProviderHTTP
internal import GateProxy

/// Asks an app at its upstream addresses as an attacker who does not come through the gateway would, for `gatehouse probe`.
///
/// It sends GET requests only, with identities of a user who does not exist, so that it changes nothing in most apps.
package struct BypassProbe: Sendable {
    /// What is tried, and the fields that carry it.
    package struct Attempt: Sendable, Hashable {
        /// What a report names it.
        package let name: String
        /// What it imitates.
        package let kind: Kind
        let fields: [Field]
    }

    /// What an attempt imitates.
    package enum Kind: String, Sendable, CaseIterable {
        /// No identity at all.
        case none
        /// Plain identity headers, as any client that reaches the app can send them.
        case header
        /// An assertion that the gateway did not sign, or not for this app, or not now.
        case assertion
        /// Identity headers with a signature over them that is not the gateway's, or not of now; RFC 9421.
        case signature
    }

    /// A field of a request.
    struct Field: Sendable, Hashable {
        let name: String
        let value: String
    }

    /// How many requests are sent to one target at most.
    static let maxRequests = 200
    private static let timeout = Duration.seconds(5)
    private static let total = Duration.seconds(60)

    package let app: AppSettings
    let path: String
    let keys: AssertionKeys?
    let issuer: String
    private let random: RandomBytes

    /// A probe of an app of a configuration; nil if it has none of the name.
    ///
    /// - Parameters:
    ///   - name: The name of the app.
    ///   - configuration: The configuration. The gateway's keys, of which an expired assertion and one for another app are
    ///     made, are left out where this user cannot read them; none are created.
    ///   - path: The path to ask for, with a query if it needs one; nil for that of the app.
    ///   - random: The random source.
    package init?(
        of name: String,
        in configuration: Configuration,
        path: String?,
        random: RandomBytes = .system
    ) {
        guard let app = configuration.apps.first(where: { $0.route.app == name }) else { return nil }
        self.app = app
        self.path = path ?? app.route.path
        self.issuer = configuration.gateway.publicURL.description
        self.random = random
        let folder = configuration.assertion.keysFolder
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let schedule = RotationSchedule(publishAhead: configuration.assertion.publishAhead, overlap: .zero)
        self.keys =
            files.contains { $0.hasSuffix(".pem") }
            ? try? AssertionKeys.load(folder: folder, schedule: schedule, now: WallClock.system.now) : nil
    }

    /// Why an app without `upstream` is not asked.
    private var reasonWithoutUpstream: String {
        switch self.app.action {
        case .forwardAuth:
            "another proxy forwards its requests; ask the app behind that with a file that has its 'upstream'"
        default: "the gateway responds itself, so there is no app that could be reached without it"
        }
    }

    /// Asks every target.
    ///
    /// - Throws: A `Failure` if a file that the app's TLS needs cannot be read, or calls cannot be made at all.
    package func run() async throws(Failure) -> BypassReport {
        var report = BypassReport(app: self.app.route.app, path: self.path, hasKeys: self.keys != nil)
        guard let upstream = self.app.upstream else {
            report.targets.append(
                BypassReport.Target(name: "no upstream", result: .skipped(self.reasonWithoutUpstream))
            )
            return report
        }
        for target in upstream.targets {
            guard let origin = target.origin, !target.isHTTP2 else {
                let result: BypassReport.Result =
                    target.origin == nil
                    ? .skipped("a Unix socket: only users of the machine whom its file permissions admit reach it")
                    : .unanswered("it speaks HTTP/2 only, which this command does not")
                report.targets.append(BypassReport.Target(name: "\(target)", result: result))
                continue
            }
            var trust = ProviderTrust()
            if let file = upstream.tls?.caFile { trust.authorities = try ProviderTrust.authorities(in: file) }
            let line = try CurlTransport(to: "app", trust: trust, connections: 2, allowsPlainHTTP: true)
            let result = await self.ask(WebURL("\(origin)\(self.path)"), over: line)
            line.shutdown()
            report.targets.append(BypassReport.Target(name: "\(target)", result: result))
        }
        return report
    }

    private func ask(_ address: WebURL?, over line: CurlTransport) async -> BypassReport.Result {
        guard let address else { return .unanswered("the path \(self.path) makes no valid URL") }
        let deadline = ContinuousClock.now + BypassProbe.total
        let marker = "probe-\(self.random.token(9))"
        let plain: BypassReport.Observation
        do throws(Failure) {
            plain = try await self.observation([], at: address, marker, over: line)
        } catch {
            // An attacker does not mind a certificate or a response that this command rejects.
            let isUnreachable = [.providerUnreachable, .providerTimeout].contains(error.reason)
            return isUnreachable ? .unreachable(error.detail) : .unanswered(error.detail)
        }
        do throws(Failure) {
            // An app that shows every header it gets has not accepted one.
            let control = [Field(name: "X-Probe-Control", value: marker)]
            let echo = try await self.observation(control, at: address, marker, over: line)
            var findings = [BypassReport.Finding(Attempt(name: "no identity", kind: .none, fields: []), plain, nil)]
            for attempt in self.attempts(for: marker).prefix(BypassProbe.maxRequests) {
                guard ContinuousClock.now < deadline else { return .asked(findings, isComplete: false) }
                let seen = try await self.attempted(attempt.fields, at: address, marker, over: line)
                let before = BypassReport.Baseline(plain: plain, echoes: echo.showsUser)
                findings.append(BypassReport.Finding(attempt, seen, before))
            }
            return .asked(findings, isComplete: true)
        } catch {
            return .unanswered("it does not respond any more: \(error.detail)")
        }
    }

    /// What an attempt leads to; no response is a rejection, as long as the app responds to others.
    private func attempted(
        _ fields: [Field],
        at address: WebURL,
        _ marker: String,
        over line: CurlTransport
    ) async throws(Failure) -> BypassReport.Observation {
        do throws(Failure) {
            return try await self.observation(fields, at: address, marker, over: line)
        } catch {
            _ = try await self.observation([], at: address, marker, over: line)
            return BypassReport.Observation(status: 0, showsUser: false)
        }
    }

    private func observation(
        _ fields: [Field],
        at address: WebURL,
        _ marker: String,
        over line: CurlTransport
    ) async throws(Failure) -> BypassReport.Observation {
        let host = self.app.traffic.upstreamHost ?? self.app.route.origins.first?.authority ?? address.origin.authority
        let own = [("Host", host), ("Accept", "text/html"), ("User-Agent", "gatehouse probe")]
        let request = ProviderRequest(
            method: "GET",
            address: address,
            headers: (own + fields.map { ($0.name, $0.value) }).map { (name: $0.0, value: $0.1) },
            body: nil,
            limit: 8 << 20,
            timeout: BypassProbe.timeout
        )
        let response = try await line.response(to: request)
        let text = String(decoding: response.body, as: UTF8.self)
        let isShown = text.contains(marker) || response.headers.contains { $0.value.contains(marker) }
        return BypassReport.Observation(status: response.status, showsUser: isShown)
    }
}
