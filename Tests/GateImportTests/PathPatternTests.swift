// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateImport

/// Which paths the regular expressions of other products become; never one that the expression does not match.
@Suite struct PathPatternTests {
    @Test(
        arguments: [
            ("^/ping$", "/ping", nil, false), ("^/static/", nil, "/static/", false),
            ("^/static/.*$", nil, "/static/", false),
            ("^/robots\\.txt$", "/robots.txt", nil, false), ("^/robots.txt$", "/robots.txt", nil, true),
            ("^/api([/?].*)?$", "/api", "/api/", false), ("^/api(/.*)?$", "/api", "/api/", false),
            ("^/api", "/api", "/api/", true), ("/api", "/api", "/api/", true), ("/api/", nil, "/api/", true),
            ("^/ok/?$", "/ok", nil, true), ("^/", nil, "/", false), (".*", nil, "/", false),
        ] as [(String, String?, String?, Bool)]
    )
    func `a simple expression is a path or all below one`(
        text: String,
        exact: String?,
        below: String?,
        isNarrower: Bool
    ) throws {
        let pattern = try #require(PathPattern(text))
        #expect((pattern.exact, pattern.below) == (exact, below))
        #expect(pattern.isNarrower == isNarrower)
    }

    @Test(arguments: [
        "^/$", "^/folder/$", "ping", "^/a|^/b", "^/(a|b)$", "^/[a-z]+$", "^/a+$", "^/ab?$", "(?i)^/x$", "^/a//b$",
        "^/a/../b$",
        "^/%2e$", "^/static/.+$", "^/.*\\.css$", "^(/a)$", "^/\\d$", "^/a.*b$", "^/a b$",
    ])
    func `an expression that needs more is left out`(text: String) {
        #expect(PathPattern(text) == nil)
    }

    @Test(
        arguments: [
            ("^/ping$", nil, nil), ("^/api(/.*)?$", nil, "/api/"), ("^/api([/?].*)?$", "/api", "/api/"),
            ("^/api/.*$", nil, "/api/"),
            ("^/api", "/api", "/api/"),
        ] as [(String, String?, String?)]
    )
    func `an expression that is compared with the query too matches a path only if it allows any query`(
        text: String,
        exact: String?,
        below: String?
    ) {
        let pattern = PathPattern(text)?.withQueries
        #expect((pattern?.exact, pattern?.below) == (exact, below))
    }

    @Test func `only an expression for a path and all below it is a subtree`() {
        #expect(PathPattern("^/api(/.*)?$")?.subtree == "/api")
        #expect(PathPattern("^/.*$")?.subtree == "/")
        for text in ["^/api", "^/api$", "^/api/", "^/v1.0(/.*)?$"] {
            #expect(PathPattern(text)?.subtree == nil, "\(text)")
        }
    }
}
