// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire

extension ForwardedHead {
    /// The address of the client as far as it is believed: the last that trusted proxies report and that is none of them.
    ///
    /// What a client writes into the list itself stands further left, so it is never reached.
    static func client(of head: RequestHead, way: Way, trusting proxies: [CIDRRange]) -> IPAddress? {
        guard way.isTrusted, let listed = self.believedAddresses(head.message) else { return way.peer }
        let addresses = listed.split(separator: ",").compactMap { IPAddress($0.trimmingOptionalSpace()) }
        return addresses.last { address in !proxies.contains { $0.contains(address) } } ?? addresses.first ?? way.peer
    }
}
