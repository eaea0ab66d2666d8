// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID

/// A request in the form the C side takes, after the checks that keep it one request to the host it names.
struct OutgoingCall: Sendable {
    /// The maximum for the limit of a response body, in bytes.
    static let largestLimit = 16 * 1024 * 1024

    let method: String
    let address: String
    /// The host alone, without brackets.
    let host: String
    /// Header lines parted by LF.
    let head: String
    let body: [UInt8]?
    let limit: UInt64
    let timeoutMilliseconds: Int64

    /// Checks a request.
    ///
    /// - Parameters:
    ///   - request: The call as the code flow wants it.
    ///   - allowsPlainHTTP: Whether another machine may be reached without TLS, which no provider may.
    /// - Throws: A `Failure` if it is not one this transport may send.
    init(_ request: ProviderRequest, allowsPlainHTTP: Bool = false) throws(Failure) {
        let origin = request.address.origin
        guard origin.isSecure || origin.isLoopback || allowsPlainHTTP else {
            throw Failure(.providerInsecureURL, "\(origin) is plain http and not this machine")
        }
        guard ["GET", "POST", "HEAD"].contains(request.method) else {
            throw Failure(
                .providerBadRequest,
                "method \(request.method.prefix(16).debugDescription)"
            )
        }
        guard (0...Self.largestLimit).contains(request.limit), request.timeout > .zero else {
            throw Failure(.providerBadRequest, "limit \(request.limit), timeout \(request.timeout)")
        }
        guard (request.body?.count ?? 0) <= Self.largestLimit, request.headers.allSatisfy(Self.isSound) else {
            throw Failure(.providerBadRequest, "a header field or the body cannot be sent")
        }
        self.method = request.method
        self.address = request.address.description
        self.host = origin.host.filter { $0 != "[" && $0 != "]" }
        self.head = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
            .joined(separator: "\n")
        self.body = request.method == "POST" ? request.body ?? [] : request.body
        self.limit = UInt64(request.limit)
        self.timeoutMilliseconds = max(1, min(request.timeout, .seconds(60)).wholeMilliseconds)
    }

    private static let symbols = Array("!#$%&'*+-.^_`|~".utf8)

    /// Whether a field is a token and a value without control characters, so that it is one line.
    ///
    /// RFC 9110 §5.
    private static func isSound(_ field: (name: String, value: String)) -> Bool {
        let soundName = field.name.utf8.allSatisfy { byte in
            PercentEncoding.isUnreserved(byte) || Self.symbols.contains(byte)
        }
        let soundValue = field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        return soundName && soundValue && !field.name.isEmpty && field.value.utf8.count <= 16_384
    }
}
