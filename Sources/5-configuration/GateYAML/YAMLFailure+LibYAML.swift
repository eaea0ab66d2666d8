// SPDX-License-Identifier: Apache-2.0

// Describes errors of libyaml in words that explain what to do.
extension YAMLFailure {
    /// Parts of libyaml's messages and our messages; with `atStart` the location is the start of the failed construct.
    private static let wordings: [(text: String, context: String, message: String, atStart: Bool)] = [
        ("found unexpected end of stream", "quoted scalar", "the quote that opens here is never closed", true),
        ("found unexpected document indicator", "quoted scalar", "the quote that opens here is never closed", true),
        (
            "did not find expected ',' or ']'", "flow sequence",
            "the '[' that opens here is not closed; put ',' between its elements and ']' after them", true
        ),
        (
            "did not find expected ',' or '}'", "flow mapping",
            "the '{' that opens here is not closed; put ',' between its entries and '}' after them", true
        ),
        (
            "mapping values are not allowed", "",
            "a ':' is not allowed here; indent the line like its neighbours, or put a text that contains ': ' in quotes",
            false
        ),
        (
            "did not find expected key", "",
            "this line matches neither the lines above nor a new key; check its indentation", false
        ),
        (
            "did not find expected '-' indicator", "",
            "this line matches neither the list above nor a new key; check its indentation", false
        ),
        ("could not find expected ':'", "", "a ':' is missing after this key", true),
        ("block sequence entries are not allowed", "", "a list cannot start here; put it on separate lines", false),
    ]

    /// The failure for a message of libyaml.
    ///
    /// - Parameters:
    ///   - text: The message.
    ///   - context: Its context, if there is one.
    ///   - mark: Where parsing stopped.
    ///   - began: Where the failed construct began.
    ///   - byte: The byte at `mark`.
    init(
        libYAML text: String,
        context: String?,
        at mark: YAMLMark,
        began: YAMLMark,
        byte: UInt8?
    ) {
        let known = YAMLFailure.wordings.first { text.hasPrefix($0.text) && (context ?? "").hasSuffix($0.context) }
        if byte == UInt8(ascii: "\t") {
            self.init(message: "a tab cannot indent a line; use spaces", mark: mark)
        } else if text.hasPrefix("found character that cannot start any token") {
            self.init(message: "a value cannot start with this character; put it in quotes", mark: mark)
        } else if let known {
            self.init(message: known.message, mark: known.atStart && context != nil ? began : mark)
        } else {
            self.init(message: "this is not YAML: \(text)", mark: mark)
        }
    }
}
