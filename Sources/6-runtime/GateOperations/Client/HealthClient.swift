// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
internal import GateNet
internal import NIOCore

/// Asks the operations listener of a running gateway for its health; for a command, since it blocks.
package struct HealthClient: Sendable {
    /// What to ask for.
    package enum Probe: String, Sendable, CaseIterable {
        /// Whether new clients should come.
        case ready
        /// Whether the event loops run.
        case live
        /// Whether it has begun to serve.
        case startup

        fileprivate var path: String {
            switch self {
            case .ready: "/readyz"
            case .live: "/livez"
            case .startup: "/startupz"
            }
        }
    }

    private static let maxResponse = 65_536

    private enum Place: CustomStringConvertible {
        case address(BindAddress)
        case socket(String)

        var description: String {
            switch self {
            case .address(let address): "the operations listener at \(address)"
            case .socket(let path): "the socket \(path)"
            }
        }
    }

    private let place: Place

    /// A client of the gateway that listens at a Unix socket.
    package init(socket path: String) {
        self.place = .socket(path)
    }

    /// A client of the gateway whose operations listener is at an address; one for all interfaces is reached by loopback.
    package init(_ address: BindAddress) {
        let loopbacks = ["0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"]
        self.place = .address(BindAddress(host: loopbacks[address.host] ?? address.host, port: address.port))
    }

    /// Asks.
    ///
    /// - Parameters:
    ///   - probe: What to ask for.
    ///   - seconds: How long each step may take.
    /// - Returns: The checks as JSON, and the first failure; nil if the gateway is healthy.
    /// - Throws: A `Failure` when it does not respond.
    package func ask(_ probe: Probe, seconds: Int) throws(Failure) -> (report: JSON, failure: String?) {
        let fields = "Host: localhost\r\nAccept: application/json\r\nConnection: close"
        let request = "GET \(probe.path) HTTP/1.1\r\n\(fields)\r\n\r\n"
        var response: [UInt8] = []
        do {
            let descriptor = try self.connect(seconds: seconds)
            let socket = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try socket.write(contentsOf: Data(request.utf8))
            while let part = try socket.read(upToCount: 4096), !part.isEmpty, response.count < HealthClient.maxResponse
            {
                response += part
            }
        } catch {
            throw Failure(.operationsUnreachable, "no response from \(self.place): \(error)")
        }
        let text = String(decoding: response, as: UTF8.self)
        guard text.hasPrefix("HTTP/1.1 "), let status = Int(text.dropFirst(9).prefix(3)),
            let end = text.range(of: "\r\n\r\n"),
            // Whatever is not JSON is not a gateway's.
            let report = try? JSON(parsing: Array(text[end.upperBound...].utf8)),
            let checks = report["checks"]?.array
        else {
            throw Failure(.operationsUnreachable, "the process of \(self.place) is not a gateway")
        }
        guard status != 200 else { return (report, nil) }
        let failure = checks.lazy.compactMap { $0["failure"]?.string }.first ?? "status \(status)"
        return (report, PrintableText.escaped(failure, limit: 200))
    }

    private func connect(seconds: Int) throws -> Int32 {
        switch self.place {
        case .socket(let path): return try UnixSocket.connect(to: path, seconds: seconds)
        case .address(let address):
            let place = try SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
            return try BlockingSocket.connect(to: place, seconds: seconds)
        }
    }
}
