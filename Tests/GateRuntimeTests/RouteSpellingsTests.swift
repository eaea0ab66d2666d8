// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
import GateProxy
import Testing

@testable import GateRuntime

@Suite struct RouteSpellingsTests {
    private func spellings(_ places: [(host: String, path: String)]) throws -> RouteSpellings {
        let routes = try places.enumerated().map { index, place in
            let origin = try #require(Origin(scheme: "https", host: place.host))
            let route = Route(app: "app\(index)", origin: origin, path: place.path)
            let upstream = UpstreamSettings(targets: [.unix(path: "/run/\(index)")])
            let settings = AppSettings(route: route, action: .forward(upstream))
            return try RuntimeRoute(settings, index: index, gatewayHost: "gate.example.com")
        }
        return RouteSpellings(routes)
    }

    @Test func `a host has other routes, or capitals in one of them, for all of its routes alike`() throws {
        let spellings = try self.spellings([
            ("a.example.com", "/"), ("b.example.com", "/"), ("a.example.com", "/Wiki"), ("c.example.com", "/Board"),
            ("b.example.com", "/x"),
        ])
        #expect((0..<5).map { spellings.facts(of: $0).areOthers } == [true, true, true, false, true])
        #expect((0..<5).map { spellings.facts(of: $0).haveCapitals } == [true, false, true, true, false])
    }
}
