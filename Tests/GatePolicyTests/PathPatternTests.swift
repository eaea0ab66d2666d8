// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct PathPatternTests {
    @Test(arguments: [
        ("/admin", ["/admin"], ["/admin/", "/admin/x", "/admi", "/admins", "/x/admin", "/Admin", ""]),
        ("/admin/", ["/admin/", "/admin/x", "/admin/x/y"], ["/admin", "/adminx/", "/x/admin/"]),
        ("/", ["/", "/x", "/x/y"], [""]),
        ("/admin/**", ["/admin", "/admin/", "/admin/x", "/admin/x/y/"], ["/adminx", "/x/admin", "/"]),
        ("/a/*/c", ["/a/b/c", "/a//c", "/a/bb/c"], ["/a/c", "/a/b/b/c", "/a/b/c/", "/a/b/cc"]),
        ("/a/*", ["/a/", "/a/b"], ["/a", "/a/b/c", "/a/b/"]),
        ("/**/admin", ["/admin", "/x/admin", "/x/y/admin"], ["/admin/", "/x/administrator", "/x"]),
        ("/**/admin/**", ["/admin", "/x/admin/y", "/admin/admin"], ["/x", "/xadmin/y"]),
        ("/files/*.pdf", ["/files/a.pdf", "/files/.pdf"], ["/files/a/b.pdf", "/files/a.pdfx", "/files/a.PDF"]),
        ("/f/a*b*c", ["/f/abc", "/f/axbxbxc"], ["/f/ab", "/f/acb", "/f/abcd"]),
        ("/**", ["/", "/a", "/a/b"], []),
        ("/a/*/", ["/a/b/", "/a/b/c"], ["/a/b", "/a/"]),
        ("/a/**/b/**/c", ["/a/b/c", "/a/x/b/y/z/c", "/a/b/b/c/c"], ["/a/c", "/a/b", "/a/b/c/d"]),
    ])
    func `a pattern covers these paths and not those`(text: String, covered: [String], others: [String]) {
        let pattern = PathPattern(text)
        for path in covered { #expect(pattern.covers(path), "\(text) \(path)") }
        for path in others { #expect(!pattern.covers(path), "\(text) \(path)") }
    }

    @Test func `a pattern covers what a definition by recursion does`() {
        let texts = ["/a/**/b", "/**/a/*", "/*/b/**", "/a*/**/b", "/**/**", "/**/a/**/a"]
        var paths = [""]
        for _ in 0..<4 { paths = paths.flatMap { path in ["a", "b", "ab", ""].map { "\(path)/\($0)" } } + paths }
        for text in texts {
            let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)[...]
            for path in paths where !path.isEmpty {
                let own = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)[...]
                #expect(
                    PathPattern(text).covers(path) == self.covers(segments, own),
                    "\(text) \(path)"
                )
            }
        }
    }

    private func covers(_ pattern: ArraySlice<Substring>, _ path: ArraySlice<Substring>) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        if first == "**" {
            return self.covers(pattern.dropFirst(), path)
                || (!path.isEmpty && self.covers(pattern, path.dropFirst()))
        }
        guard let segment = path.first else { return false }
        let isCovered =
            first == "*"
            || (first.hasSuffix("*") ? segment.hasPrefix(first.dropLast()) : segment == first)
        return isCovered && self.covers(pattern.dropFirst(), path.dropFirst())
    }

    @Test func `decoded and folded paths are compared with the same spelling of the pattern`() {
        let pattern = PathPattern("/My%20Files/**")
        #expect(pattern.covers("/My%20Files/a"))
        #expect(pattern.covers("/My Files/a", as: .decoded))
        #expect(pattern.covers("/my files/a", as: .folded))
        #expect(!pattern.covers("/my files/a", as: .decoded))
        #expect(pattern.hasCapitals && !PathPattern("/files").hasCapitals)
    }

    @Test(arguments: [
        ("/a/**", "/a/b", true), ("/a/**", "/a/", true), ("/a/**", "/a", true), ("/a/**", "/a/*/c", true),
        ("/a/", "/a/b/", true), ("/a/", "/a", false), ("/a/", "/a/**", false), ("/a", "/a", true),
        ("/a", "/a/", false), ("/a/*", "/a/**", false), ("/**", "/x/*", true), ("/a/*", "/a/b", true),
        ("/a/**", "/ab/**", false), ("/a/b/**", "/a/**", false),
    ])
    func `one pattern includes another only if it covers all of its paths`(one: String, other: String, result: Bool) {
        #expect(PathPattern(one).includes(PathPattern(other)) == result)
    }

    @Test func `a hostile path against a hostile pattern takes little time`() {
        let pattern = PathPattern("/**/" + String(repeating: "*a", count: 60) + "/**/x")
        let path = "/" + String(repeating: "aaaa/", count: 1600)
        let clock = ContinuousClock()
        let time = clock.measure { #expect(!pattern.covers(path)) }
        #expect(time < .seconds(1))
    }
}

extension PathPattern {
    /// Whether the pattern covers a path.
    fileprivate func covers(_ path: String, as spelling: Spelling = .canonical) -> Bool {
        let bytes = Array(path.utf8)
        return self.covers(bytes.span, as: spelling)
    }
}
