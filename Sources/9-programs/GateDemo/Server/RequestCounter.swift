// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Counts the requests to a simulated provider by method and path, so that a test can check what was not requested.
///
/// At most ``RequestCounter/limit`` different ones are counted.
final class RequestCounter: Sendable {
    /// The path of the counts.
    static let path = "/-/requests"
    private static let limit = 500

    private let counts = Mutex<[String: Int]>([:])

    func count(_ request: DemoRequest) {
        guard request.path != Self.path else { return }
        self.counts.withLock { counts in
            let name = "\(request.method) \(request.path)"
            guard counts[name] != nil || counts.count < Self.limit else { return }
            counts[name, default: 0] += 1
        }
    }

    /// The counts as one JSON object.
    var response: DemoResponse {
        .json(.object(self.counts.withLock { $0 }.mapValues { .int(Int64($0)) }))
    }
}
