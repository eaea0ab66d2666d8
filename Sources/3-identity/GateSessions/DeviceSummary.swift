// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A few words for the `User-Agent` of a browser, so that users and operators recognize a session.
///
/// Only names of this file and a short product name are kept, at most 60 bytes: neither versions nor anything else that a
/// client sends.
/// RFC 9110 §10.1.5.
package enum DeviceSummary {
    /// The length to which a `User-Agent` is read.
    private static let maxUserAgent = 512
    /// The maximum length of the name of an unknown product.
    private static let maxProduct = 40

    /// Names of browsers by what they send; browsers name those that they imitate too, so the order decides.
    private static let browsers: [(mark: String, name: String)] = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung"),
        ("Vivaldi/", "Vivaldi"), ("FxiOS/", "Firefox"), ("Firefox/", "Firefox"), ("CriOS/", "Chrome"),
        ("HeadlessChrome/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ]
    private static let systems: [(mark: String, name: String)] = [
        ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
        ("Macintosh", "macOS"), ("Linux", "Linux"),
    ]

    /// The summary of a `User-Agent`, such as `Firefox on Linux` or `curl`; nil if nothing in it is known.
    package static func text(of userAgent: String) -> String? {
        // All marks are ASCII, so the bytes are searched; a search by characters takes a hundred times as long.
        let start = Array(userAgent.utf8.prefix(self.maxUserAgent))
        let system = self.systems.first { self.contains(start, $0.mark) }?.name
        let browser = self.browsers.first { self.contains(start, $0.mark) }?.name ?? self.product(of: start)
        switch (browser, system) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        default: return browser ?? system
        }
    }

    private static func contains(_ text: [UInt8], _ mark: String) -> Bool {
        let span = text.span
        guard let first = mark.utf8.first, span.count >= mark.utf8.count else { return false }
        for start in 0...(span.count - mark.utf8.count) where span[start] == first {
            if span.extracting(start...).starts(with: mark) { return true }
        }
        return false
    }

    /// The name of the first product, if it is a plain word.
    private static func product(of text: [UInt8]) -> String? {
        let name = text.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: " ") }
        guard (1...self.maxProduct).contains(name.count), !name.elementsEqual("Mozilla".utf8) else { return nil }
        let isPlain = name.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
        return isPlain ? String(decoding: name, as: UTF8.self) : nil
    }
}
