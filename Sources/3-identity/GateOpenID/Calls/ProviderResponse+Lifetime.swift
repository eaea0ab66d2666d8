// SPDX-License-Identifier: Apache-2.0

extension ProviderResponse {
    private static let minLifetime = Duration.seconds(300)
    private static let maxLifetime = Duration.seconds(86_400)
    /// The lifetime of a document whose response has none.
    static let defaultLifetime = Duration.seconds(3600)

    /// How long the document in the body is fresh: `max-age` less `Age`, within bounds that a provider cannot leave.
    ///
    /// RFC 9111 §4.2.
    var documentLifetime: Duration {
        guard let control = self.header("cache-control") else { return Self.defaultLifetime }
        let directives = control.lowercased().split(separator: ",").map { directive in
            String(directive.filter { $0 != " " && $0 != "\t" })
        }
        guard !directives.contains("no-store"), !directives.contains("no-cache") else { return Self.minLifetime }
        let ages = directives.compactMap { $0.hasPrefix("max-age=") ? Self.seconds($0.dropFirst(8)) : nil }
        guard let age = ages.min() else { return Self.defaultLifetime }
        let spent = self.header("age").flatMap { Self.seconds($0) } ?? 0
        return min(max(.seconds(age - spent), Self.minLifetime), Self.maxLifetime)
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
