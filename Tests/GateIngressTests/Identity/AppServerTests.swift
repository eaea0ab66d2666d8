// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateFixtures
import Testing

/// The models of app servers read heads as the real servers do, which `Tests/EndToEnd/test_app_servers.py` asks.
@Suite struct AppServerTests {
    @Test(arguments: [AppServer.wsgi, .node])
    func `a model finds what the real server finds`(server: AppServer) throws {
        let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try Data(contentsOf: tests.appending(path: "Fixtures/app-servers/heads.json"))
        let json = try JSON(parsing: Array(text))
        let heads = try #require(json.array)
        #expect(heads.count > 5)
        for head in heads {
            guard let expected = head[server.rawValue]?.object else { continue }
            let lines = (head["lines"]?.array ?? []).compactMap(\.string)
            let bytes = Array("GET / HTTP/1.1\r\n\(lines.map { "\($0)\r\n" }.joined())\r\n".utf8)
            var found = server.fields(of: bytes)
            for (key, value) in expected {
                #expect(found.removeValue(forKey: key) == value.string.map { [$0] }, "\(key) of \(lines)")
            }
            #expect(found.isEmpty, "\(lines)")
        }
    }

    @Test(arguments: [
        (AppServer.cgi, "X.Forwarded~User", "HTTP_X_FORWARDED_USER"),
        (.rack, "x_forwarded-user", "HTTP_X_FORWARDED_USER"), (.rack, "x.user", "HTTP_X.USER"),
        (.go, "x-FORWARDED-user", "X-Forwarded-User"), (.go, "x_forwarded_user", "X_forwarded_user"),
        (.go, "x-forwarded user", "x-forwarded user"), (.cgi, "content-type", "CONTENT_TYPE"),
    ])
    func `the others spell names by their specifications`(server: AppServer, name: String, key: String) {
        #expect(server.key(of: name) == key)
    }

    @Test(arguments: [
        (AppServer.cgi, ["a, b"]), (.wsgi, ["a,b"]), (.node, ["a, b"]), (.go, ["a", "b"]), (.rack, ["a, b"]),
    ])
    func `several fields of a name are joined, or a list`(server: AppServer, values: [String]) {
        let head = Array("GET / HTTP/1.1\r\nX-Mine: a\r\nx-mine: b\r\n\r\n".utf8)
        #expect(server.fields(of: head) == [server.key(of: "X-Mine"): values])
    }
}
