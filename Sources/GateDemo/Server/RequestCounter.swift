// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Counts the requests that a simulated provider was sent, by method and path.
///
/// A test can so say that a request was not made. At most ``RequestCounter/limit`` different ones are told apart.
final class RequestCounter: Sendable {
    /// Where the counts can be read.
    static let path = "/-/requests"
    private static let limit = 500

    private let counts = Mutex<[String: Int]>([:])

    /// Notes a request.
    func count(_ request: DemoRequest) {
        guard request.path != Self.path else { return }
        self.counts.withLock { counts in
            let name = "\(request.method) \(request.path)"
            guard counts[name] != nil || counts.count < Self.limit else { return }
            counts[name, default: 0] += 1
        }
    }

    /// The counts as one JSON object.
    var answer: DemoResponse {
        .json(.object(self.counts.withLock { $0 }.mapValues { .int(Int64($0)) }))
    }
}
