// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Hides secrets in what a provider sent, which may repeat what was sent to it, as it was or encoded.
struct Redaction: Sendable {
    /// Of what is shorter, every occurrence would be a chance one.
    private static let shortest = 6
    /// What is longer is not shown at all.
    private static let longest = 65_536

    private let needles: [[UInt8]]

    init(_ secrets: [String]) {
        let forms = secrets.filter { $0.utf8.count >= Redaction.shortest }.flatMap { secret in
            let encoded = PercentEncoding.encode(secret)
            return [secret, encoded, encoded.replacing("%20", with: "+")]
        }
        // The longest first, or the rest of one that holds another would be left.
        self.needles = Set(forms).map { Redaction.folded($0.utf8) }.sorted { $0.count > $1.count }
    }

    /// The text with every secret in it replaced.
    ///
    /// By bytes, since a secret with a combining mark behind it is another text, and without regard to the case of
    /// letters, since the digits of an escape may be of either.
    func applied(to text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count <= Redaction.longest else { return "<too long>" }
        let folded = Redaction.folded(bytes)
        var shown: [UInt8] = []
        var position = 0
        while position < bytes.count {
            let rest = folded[position...]
            if let needle = self.needles.first(where: { rest.starts(with: $0) }) {
                shown += Array("<secret>".utf8)
                position += needle.count
            } else {
                shown.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func folded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 0x20 : $0 }
    }
}
