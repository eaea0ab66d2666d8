// SPDX-License-Identifier: Apache-2.0

/// A variable in the `env` of a container, as manifests of Kubernetes and values of Helm have it.
///
///     - name: OAUTH2_PROXY_CLIENT_ID
///       value: "a"
struct ManifestVariable {
    let name: Substring
    /// The value; a variable of the same name if it comes from elsewhere, such as a secret.
    let value: SourceValue

    /// Reads the element of a list that has its name on a line; nil if the line has none.
    ///
    /// - Parameters:
    ///   - line: The index of the line.
    ///   - lines: All lines of the file.
    ///   - prefix: How the name begins.
    init?(at line: Int, in lines: [SourceLine], prefix: String) {
        let text = lines[line].text
        let trimmed = ManifestVariable.content(text)
        guard let name = ManifestVariable.value(of: "name", in: trimmed), name.hasPrefix(prefix) else { return nil }
        self.name = name.dropFirst(prefix.count).prefix { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
        if trimmed.hasPrefix("{") {
            self.value = ManifestVariable.value(of: "value", in: trimmed).map { .init(expanding: String($0)) } ?? .mixed
            return
        }
        let others = ManifestVariable.element(around: line, in: lines)
        let found = others.lazy.compactMap { ManifestVariable.value(of: "value", in: $0) }.first
        if let found, !["|", ">", "|-", ">-"].contains(found) {
            self.value = SourceValue(expanding: String(found))
        } else {
            let isElsewhere = others.contains { $0.hasPrefix("valueFrom") }
            self.value = isElsewhere ? .variable(prefix + self.name) : .mixed
        }
    }

    /// The lines of the list element around one of them, without white space and `- `.
    private static func element(around line: Int, in lines: [SourceLine]) -> [Substring] {
        let isStart = { (index: Int) in lines[index].text.drop { $0 == " " }.hasPrefix("-") }
        var first = line
        while first > 0, !isStart(first) { first -= 1 }
        var last = line + 1
        while last < lines.count, last < line + 16, !isStart(last) { last += 1 }
        return (first..<last).map { self.content(lines[$0].text) }
    }

    private static func content(_ text: String) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.hasPrefix("- ") ? start.dropFirst(2).drop { $0 == " " } : start
    }

    /// The text after a key, at the beginning of a line or within braces.
    private static func value(of key: String, in text: Substring) -> Substring? {
        let isFlow = text.hasPrefix("{")
        let parts = isFlow ? text.dropFirst().split { $0 == "," || $0 == "}" } : [text]
        for part in parts {
            let start = part.drop { $0 == " " }
            guard start.hasPrefix("\(key):") else { continue }
            let value = start.dropFirst(key.count + 1).drop { $0 == " " }
            if let quote = value.first, quote == "\"" || quote == "'" {
                return value.dropFirst().prefix { $0 != quote }
            }
            let end = value.firstRange(of: " #")?.lowerBound ?? value.endIndex
            return value[..<end].trimmingSuffix(while: { $0 == " " })
        }
        return nil
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, predicate(last) { text.removeLast() }
        return text
    }
}
