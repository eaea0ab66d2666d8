// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

/// The host whose pins these tests look at.
enum PinFixture {
    static let host = "id.example.com"
    static let start = TestClock().now

    static func origin() throws -> Origin {
        try #require(Origin(scheme: "https", host: self.host))
    }
}
