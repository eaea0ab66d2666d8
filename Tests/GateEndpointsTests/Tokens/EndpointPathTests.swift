// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateWire
import Testing

/// Which endpoints the hosts of apps have (N-03).
@Suite struct EndpointPathTests {
    @Test func `each name that is taken on the host of an app is an endpoint`() {
        for name in EndpointPrefix.names { #expect(EndpointPath(rawValue: name) != nil, "\(name)") }
    }

    @Test(arguments: [
        EndpointPath.authorize, .token, .callback, .password, .introspect, .revoke, .device, .endSession, .register,
        .backChannelLogout, .credentials, .passkey, .connected, .accountLink, .tokenKeys,
    ])
    func `endpoints of sign-ins and clients are on the host of public_url alone`(endpoint: EndpointPath) {
        #expect(!EndpointPrefix.names.contains(endpoint.rawValue))
    }
}
