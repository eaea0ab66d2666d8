// SPDX-License-Identifier: Apache-2.0

/// Says what libyaml complains about in words that tell what to do.
enum YAMLFailureText {
    /// Pieces of libyaml's wording and ours; `atStart` points at what began too early rather than where it failed.
    private static let wordings: [(problem: String, context: String, message: String, atStart: Bool)] = [
        ("found unexpected end of stream", "quoted scalar", "the quote that opens here is never closed", true),
        ("found unexpected document indicator", "quoted scalar", "the quote that opens here is never closed", true),
        (
            "did not find expected ',' or ']'", "flow sequence",
            "the '[' that opens here is not closed; put ',' between its elements and ']' behind them", true
        ),
        (
            "did not find expected ',' or '}'", "flow mapping",
            "the '{' that opens here is not closed; put ',' between its entries and '}' behind them", true
        ),
        (
            "mapping values are not allowed", "",
            "a ':' does not fit here; indent the line like its neighbours, or put a text that contains ': ' in quotes",
            false
        ),
        (
            "did not find expected key", "",
            "this line fits neither the lines above nor a new key; check its indentation", false
        ),
        (
            "did not find expected '-' indicator", "",
            "this line fits neither the list above nor a new key; check its indentation", false
        ),
        ("could not find expected ':'", "", "a ':' is missing behind this key", true),
        ("block sequence entries are not allowed", "", "a list cannot start here; put it on lines of its own", false),
    ]

    /// The problem for what libyaml said.
    ///
    /// - Parameters:
    ///   - text: What it found.
    ///   - context: What it was doing, if it said so.
    ///   - mark: Where it stopped.
    ///   - began: Where the thing it was doing began.
    ///   - byte: What stands at `mark`.
    /// - Returns: The same in our words.
    static func problem(
        _ text: String,
        context: String?,
        at mark: YAMLMark,
        began: YAMLMark,
        byte: UInt8?
    )
        -> YAMLFailure
    {
        if byte == UInt8(ascii: "\t") {
            return YAMLFailure(message: "a tab cannot indent a line; use spaces", mark: mark)
        }
        if text.hasPrefix("found character that cannot start any token") {
            return YAMLFailure(message: "a value cannot start with this character; put it in quotes", mark: mark)
        }
        let known = self.wordings.first { text.hasPrefix($0.problem) && (context ?? "").hasSuffix($0.context) }
        guard let known else {
            return YAMLFailure(message: "this is not YAML: \(text)", mark: mark)
        }
        return YAMLFailure(message: known.message, mark: known.atStart && context != nil ? began : mark)
    }
}
