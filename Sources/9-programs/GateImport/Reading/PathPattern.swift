// SPDX-License-Identifier: Apache-2.0

/// What a regular expression for paths means, as far as our rules can express it: one path, and all below a path.
///
/// It never includes a path that the expression does not match.
struct PathPattern: Sendable, Hashable {
    /// A whole path, which does not end in `/`.
    var exact: String?
    /// A path that ends in `/`, for all below it and itself.
    var below: String?
    /// Whether the expression matches further paths, which are left out.
    var isNarrower: Bool
    /// Whether the expression also matches what it matches with a query after it.
    private var takesQuery = true

    /// The path if the expression matches exactly that path and all below it, segment by segment.
    var subtree: String? {
        guard !self.isNarrower, let below else { return nil }
        if below == "/" { return "/" }
        return self.exact.map { "\($0)/" } == below ? self.exact : nil
    }

    /// Reads an expression; nil if it is not of a simple form.
    init?(_ expression: String) {
        var rest = expression[...]
        let isAnchored = rest.hasPrefix("^")
        if isAnchored { rest.removeFirst() }
        if ["", ".*", ".*$", "/", "/.*", "/.*$"].contains(rest) {
            // An expression that is not anchored and has `/` matches every path.
            self.init(exact: nil, below: "/", isNarrower: false)
            return
        }
        guard let (literal, end, hasWildcard) = PathPattern.literal(of: rest) else { return nil }
        self.init(literal, end: String(end))
        self.takesQuery = ["", ".*", ".*$", "([/?].*)?$", "([/?]|$)"].contains(String(end))
        if !isAnchored || hasWildcard { self.isNarrower = true }
    }

    /// Reads an expression that has to match a path as a whole, as without its anchors.
    init?(whole expression: String) {
        let start = expression.hasPrefix("^") ? expression.dropFirst() : expression[...]
        self.init("^\(start.hasSuffix("$") ? start.dropLast() : start)$")
    }

    private init(exact: String?, below: String?, isNarrower: Bool) {
        self.exact = exact
        self.below = below
        self.isNarrower = isNarrower
    }

    /// Ends that mean `/` and anything, or nothing.
    private static let subtreeEnds: Set<String> = [
        "(/.*)?$", "(/|$)", "($|/)", "(?:/|$)", "(/.*|$)", "([/?].*)?$", "(?:/.*)?$", "([/?]|$)", "(\\/.*)?$",
    ]

    private init?(_ literal: String, end: String) {
        let isFolder = literal.hasSuffix("/")
        switch end {
        case "$":
            // Our rules have no form for a path that ends in '/' without the paths below it.
            guard !isFolder else { return nil }
            self.init(exact: literal, below: nil, isNarrower: false)
        case "", ".*", ".*$":
            if isFolder {
                self.init(exact: nil, below: literal, isNarrower: false)
            } else {
                self.init(exact: literal, below: "\(literal)/", isNarrower: true)
            }
        case _ where PathPattern.subtreeEnds.contains(end) && !isFolder:
            self.init(exact: literal, below: "\(literal)/", isNarrower: false)
        case "/?$":
            self.init(exact: literal, below: nil, isNarrower: true)
        default: return nil
        }
    }

    /// The path at the start of an expression, and what follows it; nil if the path is not in canonical form.
    ///
    /// A dot that is not escaped matches any character, so the path is only one of those that the expression matches.
    private static func literal(of expression: Substring) -> (path: String, rest: Substring, hasWildcard: Bool)? {
        var path = ""
        var hasWildcard = false
        var rest = expression
        while let character = rest.first {
            if character == "\\" {
                guard let escaped = rest.dropFirst().first, "./-_~".contains(escaped) else { break }
                path.append(escaped)
                rest = rest.dropFirst(2)
            } else if self.isPathCharacter(character), !self.isRepeated(rest) {
                path.append(character)
                hasWildcard = hasWildcard || character == "."
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        guard self.isCanonical(path) else { return nil }
        return (path, rest, hasWildcard)
    }

    /// Letters, digits and what has no meaning in an expression; a dot means any character and for itself.
    private static func isPathCharacter(_ character: Character) -> Bool {
        guard let byte = character.asciiValue else { return false }
        return (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "/-_~.".utf8.contains(byte)
    }

    private static func isRepeated(_ rest: Substring) -> Bool {
        rest.dropFirst().first.map { "*+?{".contains($0) } ?? false
    }

    /// Whether a path is one that our rules accept: it starts with `/` and has neither empty segments nor dot segments.
    static func isCanonical(_ path: String) -> Bool {
        guard path.hasPrefix("/"), path.utf8.count <= 1024 else { return false }
        guard
            path.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "/-_~.".utf8.contains(byte)
            })
        else { return false }
        let inner = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let segments = path.hasSuffix("/") ? inner.dropLast() : inner[...]
        return segments.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}

/// A path, or all paths below it, that need no sign-in.
struct PublicPath: Sendable, Hashable {
    var method: String?
    /// Ends in `/` for all paths below it.
    var path: String
}

extension PathPattern {
    /// Whether a path is another one or below it, segment by segment.
    static func contains(_ outer: String, _ inner: String) -> Bool {
        outer == "/" || outer == inner || inner.hasPrefix(outer.hasSuffix("/") ? outer : "\(outer)/")
    }

    /// The same where the expression is compared with path and query together, and our rules apply with any query.
    ///
    /// Nil if the expression matches no path with any query.
    var withQueries: PathPattern? {
        guard !self.takesQuery else { return self }
        guard let below else { return nil }
        return PathPattern(exact: nil, below: below, isNarrower: true)
    }

    /// The public paths that it means.
    func publicPaths(method: String? = nil) -> [PublicPath] {
        [self.exact, self.below].compactMap(\.self).map { PublicPath(method: method, path: $0) }
    }
}
