// SPDX-License-Identifier: Apache-2.0

/// Why there is no connection.
struct ConnectFailure: Error {
    let failure: UpstreamFailure

    init(_ failure: UpstreamFailure) {
        self.failure = failure
    }
}
