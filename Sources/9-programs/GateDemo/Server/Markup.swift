// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation

/// HTML text in which everything but our literals is escaped.
package struct Markup: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The HTML.
    package let description: String

    /// Takes a literal as HTML.
    package init(stringLiteral value: String) {
        self.description = value
    }

    /// Takes an interpolated literal as HTML, its values escaped.
    package init(stringInterpolation: Interpolation) {
        self.description = stringInterpolation.text
    }

    /// Pieces joined by line breaks.
    package init(_ pieces: [Markup]) {
        self.description = pieces.map(\.description).joined(separator: "\n")
    }

    /// Appends markup unchanged and escapes text.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.text.reserveCapacity(literalCapacity)
        }

        /// Appends a literal unchanged.
        package mutating func appendLiteral(_ literal: String) {
            self.text += literal
        }

        /// Appends markup unchanged.
        package mutating func appendInterpolation(_ markup: Markup) {
            self.text += markup.description
        }

        /// Appends a text, escaped.
        package mutating func appendInterpolation(_ received: String) {
            for scalar in received.unicodeScalars {
                switch scalar {
                case "&": self.text += "&amp;"
                case "<": self.text += "&lt;"
                case ">": self.text += "&gt;"
                case "\"": self.text += "&quot;"
                case "'": self.text += "&#39;"
                default: self.text.unicodeScalars.append(scalar.value < 0x20 && scalar != "\n" ? "\u{FFFD}" : scalar)
                }
            }
        }
    }
}

extension DemoResponse {
    /// A page without scripts.
    package static func page(
        _ title: String,
        status: Int = 200,
        accent: String = "#1d4f91",
        _ content: Markup
    ) -> DemoResponse {
        let style = pageStyle.replacing("ACCENT", with: accent)
        let digest = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
        let html: Markup = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <link rel="icon" href="data:,">
            <style>\(Markup(stringLiteral: style))</style>
            </head>
            <body>
            <main>
            \(content)
            </main>
            </body>
            </html>

            """
        let policy =
            "default-src 'none'; style-src 'sha256-\(digest)'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
        let fields = [
            (name: "Content-Type", value: "text/html; charset=utf-8"),
            (name: "Content-Security-Policy", value: policy),
            (name: "X-Content-Type-Options", value: "nosniff"),
            (name: "Referrer-Policy", value: "no-referrer"),
            (name: "Cache-Control", value: "no-store"),
        ]
        return DemoResponse(status: status, fields: fields, body: Array(html.description.utf8))
    }
}

private let pageStyle = """
    :root{color-scheme:light dark;--accent:ACCENT;--good:#1a7f37;--bad:#b42318}*{box-sizing:border-box}
    @media(prefers-color-scheme:dark){:root{--accent:color-mix(in srgb,ACCENT 45%,#fff);--good:#4ac26b;--bad:#ff8a7a}}
    body{margin:0;padding:2rem 1rem;font:1rem/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
    main{max-width:44rem;margin:0 auto;border-top:.4rem solid var(--accent);padding-top:1rem}
    h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.15rem;margin:1.5rem 0 .5rem}
    button{font:inherit;display:block;width:100%;text-align:left;margin:.5rem 0;padding:.7rem 1rem;border-radius:.5rem;
    border:1px solid color-mix(in srgb,CanvasText 60%,Canvas);background:color-mix(in srgb,CanvasText 8%,Canvas);
    color:CanvasText;cursor:pointer}
    button:focus-visible,a:focus-visible{outline:3px solid CanvasText;outline-offset:2px}
    button small{display:block}form.inline button{width:auto}
    table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;
    border-bottom:1px solid color-mix(in srgb,CanvasText 20%,Canvas);overflow-wrap:anywhere}
    th{width:17rem;font-weight:600}
    @media(max-width:36rem){th,td{display:block;width:auto}th{border:0;padding-bottom:0}td{padding-top:0}}
    code{overflow-wrap:anywhere}.good,.bad{padding:.6rem 1rem;border-left:.4rem solid}.good{border-color:var(--good)}
    .bad{border-color:var(--bad)}nav a{margin-right:1rem}.note{opacity:.85}
    """
