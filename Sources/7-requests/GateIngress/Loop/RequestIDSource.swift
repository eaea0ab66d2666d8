// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// Makes the ids of requests; confined to one event loop.
final class RequestIDSource {
    private var ids = RequestIDs()

    /// An id that no other request has.
    func next() -> RequestID { self.ids.next() }
}
