// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import NIOCore

/// The `Date` field line of responses, rendered once a second; confined to its event loop.
///
/// RFC 9110 §6.6.1.
package final class DateLine {
    private let clock: WallClock
    private var second: Int64 = .min
    private var line = ByteBuffer()

    /// A line with the time of a clock.
    package init(clock: WallClock = .system) {
        self.clock = clock
    }

    /// The line for a response that is sent now, with its line end.
    package var now: ByteBuffer {
        let instant = self.clock.now
        if instant.seconds != self.second {
            self.second = instant.seconds
            self.line = ByteBuffer(string: "Date: \(instant.httpDate)\r\n")
        }
        return self.line
    }
}
