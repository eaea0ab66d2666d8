// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateTracing

/// The environment variables of the OpenTelemetry specification.
@Suite struct TracingSettingsTests {
    private static func settings(_ environment: [String: String]) throws -> TracingSettings? {
        try TracingSettings(environment: environment, version: "1.2.3")
    }

    private static func traced(_ more: [String: String]) throws -> TracingSettings {
        let base = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"]
        return try #require(try self.settings(base.merging(more) { $1 }))
    }

    @Test(arguments: [
        [:], ["OTEL_SERVICE_NAME": "gate"], ["OTEL_EXPORTER_OTLP_ENDPOINT": ""], ["OTEL_EXPORTER_OTLP_ENDPOINT": " "],
        ["OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"],
        ["OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"],
        ["OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318"],
        // While it is off, nothing else is looked at.
        ["OTEL_TRACES_SAMPLER": "wrong", "OTEL_BSP_MAX_QUEUE_SIZE": "many"],
        ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://localhost:4318"],
    ])
    func `tracing is off without an endpoint, and when it is switched off`(environment: [String: String]) throws {
        #expect(try Self.settings(environment) == nil)
    }

    @Test func `the defaults are those of OpenTelemetry`() throws {
        let settings = try #require(try Self.settings(["OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "false"]))
        #expect("\(settings.endpoint)" == "http://localhost:4318/v1/traces")
        #expect(settings.sampler == Sampler(.all, followsParent: true))
        #expect(settings.timeout == .seconds(10) && settings.delay == .seconds(5))
        #expect(settings.exportTimeout == .seconds(30))
        #expect(settings.queueSize == 2048 && settings.batchSize == 512)
        #expect(settings.headers.isEmpty && settings.certificateFile == nil && settings.warnings.isEmpty)
        let resource = settings.resource.map { "\($0.key)=\($0.value)" }
        #expect(resource.first == "service.name=gatehouse" && resource.contains("service.version=1.2.3"))
    }

    @Test(arguments: [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("https://o.example", "https://o.example/v1/traces"),
        ("https://o.example/otlp/", "https://o.example/otlp/v1/traces"),
        ("https://o.example/otlp", "https://o.example/otlp/v1/traces"),
    ])
    func `the path of traces follows that of the endpoint`(endpoint: String, url: String) throws {
        let settings = try Self.traced(["OTEL_EXPORTER_OTLP_ENDPOINT": endpoint])
        #expect("\(settings.endpoint)" == url)
    }

    @Test func `the variables for traces come first, and their endpoint is used as it is`() throws {
        let settings = try Self.traced([
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t.example/in", "OTEL_EXPORTER_OTLP_HEADERS": "a=1",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2", "OTEL_EXPORTER_OTLP_TIMEOUT": "1000",
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2000", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/a.pem",
            "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "/b.pem",
        ])
        #expect("\(settings.endpoint)" == "https://t.example/in")
        #expect(settings.headers.map(\.name) == ["b"] && settings.timeout == .seconds(2))
        #expect(settings.certificateFile == "/b.pem")
    }

    @Test func `headers and resource attributes are percent-decoded pairs`() throws {
        let settings = try Self.traced([
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key = a%2Cb%3D , Authorization=Basic%20eA==",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=pr%C3%B6d,service.name=other,service.version=9",
            "OTEL_SERVICE_NAME": "gate",
        ])
        #expect(settings.headers.map(\.name) == ["api-key", "Authorization"])
        #expect(settings.headers.map { $0.value.withText { $0 } } == ["a,b=", "Basic eA=="])
        let resource = Dictionary(settings.resource.map { ($0.key, $0.value) }) { first, _ in first + " twice" }
        #expect(resource["service.name"] == "gate" && resource["deployment.environment.name"] == "pröd")
        #expect(resource["service.version"] == "9")
    }

    @Test func `sampler, queue and times are set`() throws {
        let settings = try Self.traced([
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25",
            "OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_EXPORT_TIMEOUT": "200",
        ])
        #expect(settings.sampler == Sampler(.ratio(0.25), followsParent: true))
        #expect(settings.queueSize == 100 && settings.batchSize == 100)
        #expect(settings.delay == .milliseconds(100) && settings.exportTimeout == .milliseconds(200))
    }

    @Test(arguments: [
        ["OTEL_TRACES_EXPORTER": "zipkin"], ["OTEL_TRACES_EXPORTER": "otlp,console"],
        ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"], ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "grpc://localhost:4317"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:secret@localhost:4318"],
        ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/?key=secret"],
        ["OTEL_EXPORTER_OTLP_HEADERS": "secret"], ["OTEL_EXPORTER_OTLP_HEADERS": "a=%0Asecret"],
        ["OTEL_EXPORTER_OTLP_HEADERS": "a b=secret"], ["OTEL_EXPORTER_OTLP_HEADERS": "=secret"],
        ["OTEL_EXPORTER_OTLP_CLIENT_KEY": "/key.pem"], ["OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE": "/cert.pem"],
        ["OTEL_EXPORTER_OTLP_TIMEOUT": "0"], ["OTEL_EXPORTER_OTLP_TIMEOUT": "10s"],
        ["OTEL_TRACES_SAMPLER": "jaeger_remote"],
        ["OTEL_TRACES_SAMPLER_ARG": "1.5", "OTEL_TRACES_SAMPLER": "traceidratio"],
        ["OTEL_TRACES_SAMPLER_ARG": "nan", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio"],
        ["OTEL_RESOURCE_ATTRIBUTES": "a"], ["OTEL_RESOURCE_ATTRIBUTES": "a=%FF"],
        ["OTEL_BSP_MAX_QUEUE_SIZE": "0"], ["OTEL_BSP_MAX_QUEUE_SIZE": "1000000"],
        ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "3000"], ["OTEL_BSP_SCHEDULE_DELAY": "-1"],
        ["OTEL_BSP_EXPORT_TIMEOUT": "soon"],
    ])
    func `a wrong value is an error that names the variable and holds no secret`(wrong: [String: String]) throws {
        let failure = #expect(throws: Failure.self) { try Self.traced(wrong) }
        #expect(failure?.reason == .gatewayTracing)
        let detail = failure?.detail ?? ""
        #expect(wrong.keys.contains { detail.hasPrefix($0) }, "\(detail)")
        #expect(!detail.contains("secret"))
    }

    @Test func `the message about a protocol names what is supported`() {
        let failure = #expect(throws: Failure.self) { try Self.traced(["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"]) }
        #expect(failure?.detail == "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported; use http/protobuf")
    }

    @Test func `what has no effect, and a key without TLS, are warnings`() throws {
        let settings = try Self.traced([
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_PROPAGATORS": "b3",
            "OTEL_EXPORTER_OTLP_HEADERS": "key=secret", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318",
        ])
        #expect(settings.warnings.count == 3 && !settings.warnings.joined().contains("secret"))
        let plain = try Self.traced([
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none", "OTEL_PROPAGATORS": "tracecontext,baggage",
            "OTEL_EXPORTER_OTLP_HEADERS": "key=secret",
        ])
        #expect(plain.warnings.isEmpty)
    }
}
