// SPDX-License-Identifier: Apache-2.0

/// How long a fetched document is fresh: `max-age` less `Age`, within bounds that a provider cannot leave.
///
/// RFC 9111 §4.2.
enum DocumentLifetime {
    static let shortest = Duration.seconds(300)
    static let longest = Duration.seconds(86_400)
    static let standard = Duration.seconds(3600)

    /// The lifetime that a response gives its body.
    static func lifetime(of response: ProviderResponse) -> Duration {
        guard let control = response.header("cache-control") else { return self.standard }
        let directives = control.lowercased().split(separator: ",").map { directive in
            String(directive.filter { $0 != " " && $0 != "\t" })
        }
        guard !directives.contains("no-store"), !directives.contains("no-cache") else { return self.shortest }
        let ages = directives.compactMap { $0.hasPrefix("max-age=") ? self.seconds($0.dropFirst(8)) : nil }
        guard let age = ages.min() else { return self.standard }
        let spent = response.header("age").flatMap { self.seconds($0) } ?? 0
        return min(max(.seconds(age - spent), self.shortest), self.longest)
    }

    /// Delta-seconds; what is beyond a year counts as a year.
    ///
    /// RFC 9111 §1.2.2.
    private static func seconds(_ text: some StringProtocol) -> Int64? {
        let digits = String(text.filter { $0 != "\"" && $0 != " " })
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(digits) ?? .max, 31_536_000)
    }
}
