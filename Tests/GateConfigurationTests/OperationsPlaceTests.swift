// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateConfiguration

/// Where commands find the running gateway, whatever is wrong with the file (N-01).
@Suite struct OperationsPlaceTests {
    private static let gateway = """
        gateway:
          public_url: https://gate.example.com
          operations: 127.0.0.1:9955 # monitoring
          state: /srv/gate
        """

    private func place(_ text: String, environment: [String: String] = [:]) -> OperationsPlace {
        OperationsPlace(bytes: Array(text.utf8), environment: environment)
    }

    @Test(arguments: [
        "", "\napps: 7", "\napps: {", "\n\tapps: {}", "\nproviders:\n  x: {type: oicd}\n  x: 1",
        "\n  unknown: ${env:NOT_SET}",
        "\napps:\n - a\n  b: [", "\ngateway: twice",
    ])
    func `the keys of the gateway are read beside any error`(rest: String) {
        let place = self.place(Self.gateway + rest)
        #expect(place.address == BindAddress(host: "127.0.0.1", port: 9955))
        #expect(place.socket == "/srv/gate/operations.sock")
    }

    @Test func `a misspelled section and JSON are read too`() {
        #expect(self.place(Self.gateway.replacing("gateway:", with: "gatewy:")).address.port == 9955)
        let json =
            "{\n \"gateway\": {\n  \"operations\": \"127.0.0.1:9955\",\n  \"operations_socket\": \"off\"\n }, }: {"
        #expect(self.place(json).address.port == 9955 && self.place(json).socket == nil)
        #expect(
            self.place("gateway: { operations: '127.0.0.1:9955', state: /srv/gate }").socket
                == "/srv/gate/operations.sock"
        )
    }

    @Test func `an invalid value is its default, and a variable is read`() {
        let place = self.place("gateway:\n  operations: nowhere\n  state: ${env:STATE}", environment: ["STATE": "/x"])
        #expect(place.address.port == 9901 && place.socket == "/x/operations.sock")
        #expect(self.place("", environment: ["STATE_DIRECTORY": "/y:/z"]).socket == "/y/operations.sock")
    }
}
