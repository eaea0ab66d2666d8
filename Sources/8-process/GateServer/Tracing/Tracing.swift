// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateOperations
internal import GateProviderHTTP
internal import GateTracing
internal import Logging

/// Tracing as the environment of the process sets it up: the tracer, its exporter, and the connection to the collector.
final class Tracing: Sendable {
    /// Takes the spans.
    let tracer: Tracer
    private let exporter: SpanExporter
    private let transport: CurlTransport

    /// The most bytes of a response of the collector that are read.
    private static let maxResponse = 65_536

    /// Begins to export; nil while tracing is off.
    ///
    /// - Throws: `gateway.tracing` for a value that is not supported.
    init?(environment: [String: String], version: String, logger: Logger) throws(Failure) {
        guard let settings = try TracingSettings(environment: environment, version: version) else { return nil }
        let log = ServerLog(logger: logger)
        let transport = try Tracing.transport(settings)
        let report = SpanReport { log.spansDropped($0, $1) }
        self.transport = transport
        self.tracer = Tracer(settings)
        self.exporter = SpanExporter(of: self.tracer, settings) { body in
            await Tracing.delivery(of: body, settings, over: transport)
        } report: { event in
            report.note(event)
        }
        log.tracing(settings)
        self.exporter.start()
    }

    /// Exports what is queued, for a bounded time, and ends.
    func stop() async {
        await self.exporter.stop()
        self.transport.shutdown()
    }

    /// A transport of its own, with nothing of the trust in providers.
    private static func transport(_ settings: TracingSettings) throws(Failure) -> CurlTransport {
        var trust = ProviderTrust()
        do throws(Failure) {
            if let file = settings.certificateFile { trust.authorities = try ProviderTrust.authorities(in: file) }
            return try CurlTransport(to: "trace collector", trust: trust, connections: 1, allowsPlainHTTP: true)
        } catch {
            throw Failure(.gatewayTracing, error.detail)
        }
    }

    /// Sends one batch.
    ///
    /// OTLP/HTTP, "Failures": these statuses mean that the batch may be sent again.
    private static func delivery(
        of body: [UInt8],
        _ settings: TracingSettings,
        over transport: CurlTransport
    ) async -> SpanExporter.Delivery {
        let headers = settings.headers.map { header in header.value.withText { (name: header.name, value: $0) } }
        let request = ProviderRequest(
            method: "POST",
            address: settings.endpoint,
            headers: [(name: "Content-Type", value: "application/x-protobuf")] + headers,
            body: body,
            limit: Tracing.maxResponse,
            timeout: settings.timeout
        )
        do throws(Failure) {
            let response = try await transport.response(to: request)
            let reason = "\(settings.endpoint.origin) responded \(response.status)"
            return switch response.status {
            case 200..<300: .taken
            case 429, 502, 503, 504: .postponed(reason)
            default: .rejected(reason)
            }
        } catch {
            // The advice of the transport names the key for providers.
            let detail = error.detail.replacing("tls.ca_file", with: "OTEL_EXPORTER_OTLP_CERTIFICATE")
            return .postponed(detail)
        }
    }
}
