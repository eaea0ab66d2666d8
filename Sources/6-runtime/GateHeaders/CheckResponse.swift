// SPDX-License-Identifier: Apache-2.0

package import GateHTTP
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// A response to a proxy that asks, as the `CheckResponse` of `envoy.service.auth.v3`.
package enum CheckResponse {
    /// Sends a response as a message, which is the whole of a call without an error.
    package static func send(_ response: Response, over connection: any DownstreamExchange) {
        let body = self.body(of: response)
        let closes = connection.mustClose
        let head = HeadWriter.head(into: connection.freshBuffer(capacity: 256)) { writer in
            writer.writeStatusLine(200)
            writer.writeLine("Content-Type", "application/grpc")
            writer.writeFraming(.length(Int64(body.count)))
            if closes { writer.writeLine("Connection", "close") }
        }
        connection.start(head, framing: .length(Int64(body.count)), closes: closes)
        connection.write(ByteBuffer(bytes: body))
        connection.end(trailers: ByteBuffer(string: "grpc-status: 0\r\n\r\n"))
    }

    /// `PERMISSION_DENIED` of gRPC.
    private static let denied: UInt64 = 7

    /// The body of the gRPC response: one message, not compressed.
    ///
    /// A response of status 200 lets the request pass. Its fields replace those of the client, and those with an empty value
    /// remove them; any other is shown to the client.
    static func body(of response: Response) -> [UInt8] {
        var message = ProtobufWriter()
        let fields = response.head.headerFields
        if response.head.status.code == 200 {
            message.message(1) { _ in }
            message.message(3) { Self.writeAdmission(fields, to: &$0) }
        } else {
            message.message(1) { $0.number(1, Self.denied) }
            message.message(2) { Self.writeDenial(response, to: &$0) }
        }
        let length = UInt32(message.bytes.count)
        return [0] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + message.bytes
    }

    /// `OkHttpResponse`.
    private static func writeAdmission(_ fields: HTTPFields, to message: inout ProtobufWriter) {
        for field in fields where !self.ofResponse.contains(field.name) {
            if field.value.isEmpty {
                message.bytes(5, field.name.canonicalName.utf8)
            } else {
                self.write(field, as: 2, appends: false, to: &message)
            }
        }
        for field in fields where field.name == .setCookie {
            self.write(field, as: 6, appends: true, to: &message)
        }
    }

    /// Fields of a response that are not for the app.
    private static let ofResponse: Set<HTTPField.Name> = [
        .cacheControl, .vary, .setCookie, .strictTransportSecurity, .requestID, .date, .contentType,
    ]

    /// `DeniedHttpResponse`.
    private static func writeDenial(_ response: Response, to message: inout ProtobufWriter) {
        message.message(1) { $0.number(1, UInt64(response.head.status.code)) }
        for field in response.head.headerFields {
            self.write(field, as: 2, appends: field.name == .setCookie, to: &message)
        }
        message.bytes(3, response.body)
    }

    /// `config.core.v3.HeaderValueOption`.
    private static func write(
        _ field: HTTPField,
        as number: UInt64,
        appends: Bool,
        to message: inout ProtobufWriter
    ) {
        message.message(number) { option in
            option.message(1) { header in
                header.bytes(1, field.name.canonicalName.utf8)
                header.bytes(2, field.value.utf8)
            }
            // APPEND_IF_EXISTS_OR_ADD and OVERWRITE_IF_EXISTS_OR_ADD.
            option.number(3, appends ? 0 : 2)
        }
    }
}
