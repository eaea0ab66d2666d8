// SPDX-License-Identifier: Apache-2.0

package import GateHTTP
package import GateWire
internal import HTTPTypes
package import NIOCore

/// What gRPC needs of a gateway: its time-outs, and errors that its clients understand.
package enum GRPC {
    /// The longest time that a client may ask for.
    static let maxTimeout = TimeAmount.hours(1)

    /// Whether a request is a call: `Content-Type: application/grpc`, with or without a suffix.
    package static func isCall(_ request: RequestHead) -> Bool {
        guard request.method == .post else { return false }
        let type = "application/grpc"
        let message = request.message
        return message.fields.contains { field in
            guard field.name == .contentType else { return false }
            let value = field.valueRange
            guard value.count >= type.utf8.count else { return false }
            let end = value.lowerBound + type.utf8.count
            guard message.spells(value.lowerBound..<end, type) else { return false }
            guard end < value.upperBound, let next = message.slice(end..<(end + 1)).first else { return true }
            return "+; \t".utf8.contains(next)
        }
    }

    /// The time that a call may take: `grpc-timeout`, at most an hour; nil if absent.
    package static func timeout(of request: RequestHead) -> TimeAmount? {
        let message = request.message
        guard
            let field = message.fields.first(where: { message.spells($0.nameRange, "grpc-timeout") })
        else { return nil }
        return self.timeout(message.text(field.valueRange))
    }

    /// Up to eight digits and a unit; nil for anything else.
    static func timeout(_ text: String) -> TimeAmount? {
        guard (2...9).contains(text.utf8.count), let unit = text.last else { return nil }
        let digits = text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits) else { return nil }
        let amount: TimeAmount
        switch unit {
        case "H": amount = count > 1 ? self.maxTimeout : .hours(count)
        case "M": amount = .minutes(count)
        case "S": amount = .seconds(count)
        case "m": amount = .milliseconds(count)
        case "u": amount = .microseconds(count)
        case "n": amount = .nanoseconds(count)
        default: return nil
        }
        return min(amount, self.maxTimeout)
    }

    /// A response of the gateway in the form of a gRPC error: status 200 and the error in the fields, no body.
    package static func response(for response: Response) -> Response {
        let status = response.head.status.code
        let fields: HTTPFields = [
            .contentType: "application/grpc", .grpcStatus: String(self.code(for: status)),
            .grpcMessage: "the gateway responded with \(status)",
        ]
        return Response(200, fields: fields)
    }

    /// The code for a status of HTTP.
    static func code(for status: Int) -> Int {
        switch status {
        case 300...399, 401: 16
        case 403: 7
        case 404, 405: 12
        case 413, 429, 431: 8
        case 400...499: 13
        case 502, 503: 14
        case 504: 4
        default: 13
        }
    }
}
