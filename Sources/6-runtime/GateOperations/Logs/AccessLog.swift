// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateTracing
package import GateWire
package import NIOCore

/// How access lines are written under one configuration.
package struct AccessLogSettings: Sendable {
    fileprivate let writer: LogWriter
    fileprivate let format: LogFormat
    fileprivate let sample: Double
    fileprivate let query: LoggedQuery
    fileprivate let hash: (@Sendable (String) -> String)?

    /// The settings of a configuration; nil if access lines go nowhere.
    ///
    /// - Parameters:
    ///   - settings: What the file has.
    ///   - router: The log.
    ///   - hash: The keyed hash of a user key.
    package init?(_ settings: LogSettings, router: LogRouter, hash: @escaping @Sendable (String) -> String) {
        guard let (writer, format) = router.target(of: .access) else { return nil }
        self.writer = writer
        self.format = format
        self.sample = settings.sample
        self.query = settings.query
        self.hash = settings.users == .hash ? hash : nil
    }

    /// A user key as access lines show it.
    package func shown(_ user: String) -> String { self.hash?(user) ?? user }
}

/// What is collected about a request for its access line; confined to the event loop of the request.
///
/// A class that serves one request after the other: as a structure it would be copied for each line.
package final class AccessRecord {
    /// The user and the app.
    package var subject: AccessSubject?
    /// What was decided.
    package var decision: AccessDecision?
    /// The rule that decided.
    package var rule: RulePlace?
    /// The code of the failure that the client was shown.
    package var code: String?
    /// The incident that the client was shown.
    package var incident: String?
    /// Bytes of the request's body.
    package var bytesIn = 0
    /// Bytes of the response's body.
    package var bytesOut = 0
    /// When the request was given to the upstream.
    package var forwarded: NIODeadline?
    /// When the head of the upstream's response had arrived.
    package var responded: NIODeadline?

    /// The client IP and the host of a connection's requests, as bytes for lines.
    fileprivate var peer: [UInt8] = []
    /// The host that it is of, and the mark of the log that has made it.
    fileprivate var peerAuthority: RequestAuthority?
    fileprivate var peerMark: UInt64 = 0

    /// Nothing is known yet.
    package init() {}

    /// Forgets the request, but not the connection.
    package func reset() {
        (self.subject, self.decision, self.rule, self.code, self.incident) = (nil, nil, nil, nil, nil)
        (self.bytesIn, self.bytesOut, self.forwarded, self.responded) = (0, 0, nil, nil)
    }
}

/// The names and constant values of access lines.
///
/// Not static: each use of a static value checks that it exists, and copies it.
private struct Keys {
    let request = LogKey("request")
    let trace = LogKey("trace")
    let client = LogKey("client")
    let host = LogKey("host")
    let method = LogKey("method")
    let get = LogFact("method", "GET")
    let post = LogFact("method", "POST")
    let path = LogKey("path")
    let query = LogKey("query")
    let http2 = LogFact("protocol", "HTTP/2")
    let http11 = LogFact("protocol", "HTTP/1.1")
    let http10 = LogFact("protocol", "HTTP/1.0")
    let status = LogKey("status")
    let bytesIn = LogKey("bytes_in")
    let bytesOut = LogKey("bytes_out")
    let duration = LogKey("duration_ms")
    let gateway = LogKey("gateway_ms")
    let upstream = LogKey("upstream_ms")
    let app = LogKey("app")
    let route = LogKey("route")
    let user = LogKey("user")
    let provider = LogKey("provider")
    let allowed = LogFact("decision", AccessDecision.allowed.rawValue)
    let open = LogFact("decision", AccessDecision.open.rawValue)
    let decision = LogKey("decision")
    let rule = LogKey("rule")
    let ruleFile = LogKey("rule_file")
    let code = LogKey("code")
    let incident = LogKey("incident")
    let opening = LogOpening(level: "info", stream: .access, message: "request")
}

/// Writes the access lines of one event loop; confined to that loop.
///
/// A line is made of bytes that are there already: it costs one copy into the queue of the writer.
package final class AccessLog {
    private let settings: AccessLogSettings
    private var time = LogTime()
    /// The line before, whose storage the next one uses.
    private var line: LogLine
    private var hashes: [String: String] = [:]
    /// Distinguishes this log from others, whose settings differ.
    private let mark = UInt64.random(in: 1 ... .max)
    /// The state of the generator that chooses the sample: xorshift, since nothing depends on it but the choice.
    private var random = UInt64.random(in: 1 ... .max)

    private let keys = Keys()

    private static let maxHashes = 4096

    package init(_ settings: AccessLogSettings) {
        self.settings = settings
        self.line = LogLine(settings.format)
    }

    /// Whether a request is written: all that failed, and the sample of the others.
    package func takes(_ record: AccessRecord, status: Int) -> Bool {
        guard self.settings.sample < 1, status < 400 else { return true }
        guard record.decision != .denied, record.decision != .rejected else { return true }
        self.random ^= self.random << 13
        self.random ^= self.random >> 7
        self.random ^= self.random << 17
        return Double(self.random >> 11) < self.settings.sample * 9_007_199_254_740_992
    }

    /// Writes the line of a request.
    ///
    /// - Parameters:
    ///   - record: What was collected.
    ///   - request: The head; nil if none was valid.
    ///   - id: The id of the request.
    ///   - trace: The trace of the request; nil for that of its `traceparent`, while tracing is off.
    ///   - client: The client IP.
    ///   - isOfConnection: Whether all requests of the connection have this client, since no proxy names another one.
    ///   - status: The status of the response; 499 if the client did not wait for it.
    ///   - began: When the request arrived.
    ///   - ended: When the response had been given to the connection.
    package func write(
        _ record: AccessRecord,
        of request: RequestHead?,
        id: RequestID,
        trace: TraceID?,
        client: String,
        isOfConnection: Bool = false,
        status: Int,
        began: NIODeadline,
        ended: NIODeadline
    ) {
        self.line.clear()
        self.line.begin(&self.time, self.keys.opening, isExact: true, at: ended)
        self.line.add(self.keys.request, id)
        if let trace = trace ?? request?.message.traceParent?.trace { self.line.add(self.keys.trace, "\(trace)") }
        if let request {
            if isOfConnection {
                self.addPeer(client, of: request, record)
            } else {
                self.line.add(self.keys.client, client)
                self.line.add(self.keys.host, request.authority.host)
            }
            self.add(request)
        } else {
            self.line.add(self.keys.client, client)
        }
        self.line.add(self.keys.status, status)
        self.line.add(self.keys.bytesIn, record.bytesIn)
        self.line.add(self.keys.bytesOut, record.bytesOut)
        self.line.add(self.keys.duration, milliseconds: ended - began)
        if let forwarded = record.forwarded {
            self.line.add(self.keys.gateway, milliseconds: forwarded - began)
            if let responded = record.responded {
                self.line.add(self.keys.upstream, milliseconds: responded - forwarded)
            }
        }
        if let subject = record.subject {
            if subject.values.mark != self.mark { subject.values = (self.values(of: subject), self.mark) }
            self.line.add(subject.values.bytes)
        }
        switch record.decision {
        case .allowed?: self.line.add(self.keys.allowed)
        case .open?: self.line.add(self.keys.open)
        case let decision?: self.line.add(self.keys.decision, decision.rawValue)
        case nil: break
        }
        if let rule = record.rule {
            self.line.add(self.keys.rule, rule.line)
            if let file = rule.includedFile { self.line.add(self.keys.ruleFile, file) }
        }
        if let code = record.code { self.line.add(self.keys.code, code) }
        if let incident = record.incident { self.line.add(self.keys.incident, incident) }
        self.line.end()
        self.settings.writer.append(self.line, to: .access, severity: 6)
    }

    /// Adds the client IP and the host, which are mostly those of the request before on the connection.
    private func addPeer(_ client: String, of request: RequestHead, _ record: AccessRecord) {
        guard record.peerAuthority !== request.authority || record.peerMark != self.mark else {
            return self.line.add(record.peer)
        }
        var line = LogLine(self.settings.format)
        line.add(self.keys.client, client)
        line.add(self.keys.host, request.authority.host)
        let bytes = line.values
        (record.peer, record.peerAuthority, record.peerMark) = (bytes, request.authority, self.mark)
        self.line.add(bytes)
    }

    private func values(of subject: AccessSubject) -> [UInt8] {
        var line = LogLine(self.settings.format)
        if let app = subject.app { line.add(self.keys.app, app) }
        if let route = subject.route { line.add(self.keys.route, route) }
        if let user = subject.user { line.add(self.keys.user, self.shown(user)) }
        if let provider = subject.provider { line.add(self.keys.provider, provider) }
        return line.values
    }

    private func add(_ request: RequestHead) {
        switch request.method {
        case .get: self.line.add(self.keys.get)
        case .post: self.line.add(self.keys.post)
        default: self.line.add(self.keys.method, request.method.rawValue)
        }
        if request.isAsterisk {
            self.line.add(self.keys.path, "*")
        } else {
            request.path.withSpan(of: request.message) { self.line.add(self.keys.path, bytes: $0) }
        }
        if self.settings.query == .mask, let query = request.queryText {
            self.line.add(self.keys.query, AccessLog.names(of: query))
        }
        if request.isHTTP2 {
            self.line.add(self.keys.http2)
        } else {
            self.line.add(request.minorVersion == 1 ? self.keys.http11 : self.keys.http10)
        }
    }

    /// The names of a query's parameters; a part without `=` may be a value, so only its place is shown.
    private static func names(of query: String) -> String {
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).prefix(32)
        return parts.map { part in part.contains("=") ? "\(part.prefix { $0 != "=" }.prefix(64))=*" : "*" }
            .joined(separator: "&")
    }

    private func shown(_ user: String) -> String {
        guard let hash = self.settings.hash else { return user }
        if let known = self.hashes[user] { return known }
        if self.hashes.count >= AccessLog.maxHashes { self.hashes.removeAll(keepingCapacity: true) }
        let made = hash(user)
        self.hashes[user] = made
        return made
    }
}

extension RequestHead {
    /// The version of HTTP, as logs have it.
    package var httpVersion: String { self.isHTTP2 ? "HTTP/2" : self.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0" }
}
