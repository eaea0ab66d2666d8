// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension TracingSettings {
    /// The settings of the environment; nil while tracing is off.
    ///
    /// It is off unless a variable names an endpoint or `OTEL_TRACES_EXPORTER` is `otlp`. The names, defaults and units are those
    /// of the OpenTelemetry specification, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter"; an
    /// empty variable counts as one that is not set.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - version: The version of the gateway.
    /// - Throws: `gateway.tracing`, naming the variable and what it takes.
    package init?(environment: [String: String], version: String) throws(Failure) {
        let reader = EnvironmentReader(environment)
        guard try reader.isOn else { return nil }
        self.init(endpoint: try reader.endpoint)
        self.version = version
        try reader.checkUnsupported()
        self.headers = try reader.headers
        self.certificateFile = reader.ofTraces("CERTIFICATE")?.value
        self.timeout = try reader.milliseconds(
            reader.ofTraces("TIMEOUT")?.name ?? "OTEL_EXPORTER_OTLP_TIMEOUT",
            default: 10_000,
            max: 60_000
        )
        self.sampler = try reader.sampler
        self.resource = try reader.resource(version: version)
        self.queueSize = try reader.number("OTEL_BSP_MAX_QUEUE_SIZE", default: 2048, in: 1...65_536)
        self.batchSize = try reader.number(
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
            default: min(512, self.queueSize),
            in: 1...min(4096, self.queueSize)
        )
        self.delay = try reader.milliseconds("OTEL_BSP_SCHEDULE_DELAY", default: 5000, max: 600_000)
        self.exportTimeout = try reader.milliseconds("OTEL_BSP_EXPORT_TIMEOUT", default: 30_000, max: 600_000)
        self.warnings = reader.warnings
        if !self.headers.isEmpty, !self.endpoint.origin.isSecure, !self.endpoint.origin.isLoopback {
            self.warnings.append("the headers for \(self.endpoint.origin) are sent without TLS; use https")
        }
    }
}

/// Reads the variables of OpenTelemetry.
private struct EnvironmentReader {
    private let environment: [String: String]

    init(_ environment: [String: String]) {
        self.environment = environment
    }

    /// A variable that is set and not empty, without white space around it.
    private subscript(_ name: String) -> String? {
        self.environment[name]?.trimmingSpace.nonEmpty
    }

    /// A variable of the exporter: the one for traces, or the one for all signals.
    func ofTraces(_ suffix: String) -> (name: String, value: String)? {
        for name in ["OTEL_EXPORTER_OTLP_TRACES_\(suffix)", "OTEL_EXPORTER_OTLP_\(suffix)"] {
            if let value = self[name] { return (name, value) }
        }
        return nil
    }

    private func failure(_ name: String, _ value: String, _ expected: String) -> Failure {
        Failure(.gatewayTracing, "\(name): \(PrintableText.escaped(value, limit: 100)) is not \(expected)")
    }

    var isOn: Bool {
        get throws(Failure) {
            guard self["OTEL_SDK_DISABLED"]?.lowercased() != "true" else { return false }
            let name = "OTEL_TRACES_EXPORTER"
            switch self[name] {
            case "none": return false
            case "otlp": return true
            case nil: return self.ofTraces("ENDPOINT") != nil
            case .some(let other): throw self.failure(name, other, "supported; use otlp, or none")
            }
        }
    }

    /// The URL of the collector: that for traces as it is, that for all signals with `/v1/traces` after its path.
    var endpoint: WebURL {
        get throws(Failure) {
            let name = "OTEL_EXPORTER_OTLP_ENDPOINT"
            if let value = self["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
                return try self.url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", value)
            }
            let base = try self.url(name, self[name] ?? "http://localhost:4318")
            let path = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
            return WebURL(origin: base.origin, path: path + "/v1/traces")
        }
    }

    private func url(_ name: String, _ value: String) throws(Failure) -> WebURL {
        guard let url = WebURL(value), url.query == nil else {
            // The value may hold a password, which the message must not repeat.
            throw Failure(.gatewayTracing, "\(name) is not an http or https URL without user, query and fragment")
        }
        return url
    }

    /// What is set and would change more than speed.
    func checkUnsupported() throws(Failure) {
        if let (name, value) = self.ofTraces("PROTOCOL"), value != "http/protobuf" {
            throw self.failure(name, value, "supported; use http/protobuf")
        }
        for suffix in ["CLIENT_CERTIFICATE", "CLIENT_KEY"] {
            guard let (name, _) = self.ofTraces(suffix) else { continue }
            throw Failure(.gatewayTracing, "\(name): client certificates are not supported; unset it")
        }
    }

    var warnings: [String] {
        var warnings: [String] = []
        if let (name, value) = self.ofTraces("COMPRESSION"), value != "none" {
            warnings.append("\(name) has no effect: spans are sent uncompressed")
        }
        if let value = self["OTEL_PROPAGATORS"], !value.split(separator: ",").contains("tracecontext") {
            warnings.append("OTEL_PROPAGATORS has no effect: trace ids are passed on as W3C Trace Context")
        }
        return warnings
    }

    var headers: [(name: String, value: Secret)] {
        get throws(Failure) {
            guard let (name, value) = self.ofTraces("HEADERS") else { return [] }
            let pairs = self.pairs(value)
            let symbols = Array("!#$%&'*+-.^_`|~".utf8)
            let isSound = pairs?.allSatisfy { pair in
                pair.key.utf8.allSatisfy { PercentEncoding.isUnreserved($0) || symbols.contains($0) }
                    && pair.value.utf8.allSatisfy { (0x20...0x7E).contains($0) } && pair.value.utf8.count <= 8192
            }
            guard let pairs, isSound == true else {
                throw Failure(.gatewayTracing, "\(name) is not a list of name=value, parted by commas, percent-encoded")
            }
            return pairs.map { ($0.key, Secret(text: $0.value)) }
        }
    }

    /// Attributes of the resource: those of the environment, then those of the gateway that it does not set.
    func resource(version: String) throws(Failure) -> [(key: String, value: String)] {
        let name = "OTEL_RESOURCE_ATTRIBUTES"
        guard let given = self.pairs(self[name] ?? "") else {
            throw Failure(
                .gatewayTracing,
                "\(name) is not a list of at most 64 key=value, parted by commas, percent-encoded"
            )
        }
        let own = [("service.name", self["OTEL_SERVICE_NAME"])].compactMap { key, value in value.map { (key, $0) } }
        let defaults = [
            ("service.name", "gatehouse"), ("service.version", version), ("telemetry.sdk.language", "swift"),
            ("telemetry.sdk.name", "gatehouse"), ("telemetry.sdk.version", version),
        ]
        var resource: [(key: String, value: String)] = []
        for (key, value) in own + given.map({ ($0.key, $0.value) }) + defaults
        where !resource.contains(where: { $0.key == key }) {
            resource.append((key, String(value.prefix(1024))))
        }
        return resource
    }

    /// A list of pairs as W3C Baggage writes it; nil if it is not one.
    private func pairs(_ text: String) -> [(key: String, value: String)]? {
        var pairs: [(key: String, value: String)] = []
        for part in text.split(separator: ",") {
            guard let equals = part.firstIndex(of: "="), pairs.count < 64,
                let bytes = PercentEncoding.decode(part[part.index(after: equals)...].trimmingSpace.utf8),
                let value = String(validating: bytes, as: UTF8.self)
            else { return nil }
            let key = part[..<equals].trimmingSpace
            guard !key.isEmpty else { return nil }
            pairs.append((key, value))
        }
        return pairs
    }

    var sampler: Sampler {
        get throws(Failure) {
            let name = "OTEL_TRACES_SAMPLER"
            let chosen = self[name] ?? "parentbased_always_on"
            var ratio = 1.0
            if chosen.hasSuffix("traceidratio"), let text = self["\(name)_ARG"] {
                guard let number = Double(text), (0...1).contains(number) else {
                    throw self.failure("\(name)_ARG", text, "a number from 0 to 1")
                }
                ratio = number
            }
            guard let sampler = Sampler(name: chosen, ratio: ratio) else {
                throw self.failure(name, chosen, "supported; use \(Sampler.names.joined(separator: ", "))")
            }
            return sampler
        }
    }

    func number(_ name: String, default standard: Int, in range: ClosedRange<Int>) throws(Failure) -> Int {
        guard let text = self[name] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw self.failure(name, text, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func milliseconds(_ name: String, default standard: Int, max: Int) throws(Failure) -> Duration {
        .milliseconds(try self.number(name, default: standard, in: 1...max))
    }
}

extension StringProtocol {
    /// The text without white space at its ends.
    fileprivate var trimmingSpace: String {
        let head = self.drop(while: \.isWhitespace)
        guard let last = head.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(head[...last])
    }
}

extension String {
    fileprivate var nonEmpty: String? { self.isEmpty ? nil : self }
}
