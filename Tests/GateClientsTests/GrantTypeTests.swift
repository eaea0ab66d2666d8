// SPDX-License-Identifier: Apache-2.0

import GateClients
import Testing

@Suite struct GrantTypeTests {
    @Test(
        arguments: [
            ("authorization_code", .authorizationCode), ("refresh_token", .refreshToken),
            ("urn:ietf:params:oauth:grant-type:device_code", .deviceCode),
            ("urn:ietf:params:oauth:grant-type:token-exchange", .tokenExchange),
        ] as [(String, GrantType)]
    )
    func `a grant has the name of its RFC`(text: String, grant: GrantType) {
        #expect(GrantType(rawValue: text) == grant)
    }
}
