// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
internal import GateNet

/// Sends requests to the operations API of a running gateway through its Unix socket; for commands, since it blocks.
package struct OperationsClient: Sendable {
    private static let maxResponse = 16 << 20
    /// How long a read may take: the gateway waits for its store meanwhile.
    private static let seconds = 60

    private let path: String

    /// A client of the gateway that listens at `path`.
    package init(socket path: String) {
        self.path = path
    }

    /// Reads a resource; parameters without a value are left out.
    package func get(_ resource: String, _ parameters: [(name: String, value: String?)]) throws(Failure) -> JSON {
        let form = Form(parameters.compactMap { name, value in value.map { Form.Field(name, $0) } })
        return try self.send("GET \(resource)?\(form.encoded)", body: [])
    }

    /// Changes something.
    package func post(_ resource: String, _ members: [String: JSON]) throws(Failure) -> JSON {
        try self.send("POST \(resource)", body: JSON.object(members).encoded)
    }

    private func send(_ line: String, body: [UInt8]) throws(Failure) -> JSON {
        let descriptor: Int32
        do throws(SocketError) {
            descriptor = try UnixSocket.connect(to: self.path, seconds: OperationsClient.seconds)
        } catch {
            let advice = "is the gateway running, as this user, with this state folder? --socket names another"
            throw Failure(.operationsUnreachable, "cannot reach the gateway at \(self.path): \(error); \(advice)")
        }
        let socket = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let type = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        let request = "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(type)\r\n"
        var response: [UInt8] = []
        do {
            try socket.write(contentsOf: Data(Array(request.utf8) + body))
            while let part = try socket.read(upToCount: 65_536), !part.isEmpty,
                response.count <= OperationsClient.maxResponse
            {
                response += part
            }
        } catch {
            throw Failure(.operationsUnreachable, "the gateway at \(self.path) did not respond: \(error)")
        }
        return try self.result(response)
    }

    /// The JSON of a response of status 200; the gateway closes the connection after it.
    private func result(_ response: [UInt8]) throws(Failure) -> JSON {
        let text = String(decoding: response, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1.1 "),
            let status = Int(text.dropFirst(9).prefix(3)),
            let json = try? JSON(parsing: Array(text[end.upperBound...].utf8), depth: 8)
        else {
            throw Failure(.operationsUnreachable, "the process at \(self.path) is not a gateway, or stopped meanwhile")
        }
        guard status == 200 else {
            throw Failure(.operationsRejected, json["error"]?.string ?? "the gateway responded \(status)")
        }
        return json
    }
}
