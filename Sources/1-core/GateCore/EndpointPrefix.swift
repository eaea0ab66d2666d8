// SPDX-License-Identifier: Apache-2.0

/// The path below which every host has the gateway's endpoints: `gateway.endpoint_prefix`.
///
/// It is the same on all hosts, since a browser passes from one to another, and each has to know where the others have them.
/// Every path of an endpoint is derived from it here.
package struct EndpointPrefix: Sendable, Hashable, CustomStringConvertible {
    /// The one of a gateway whose file names no other.
    package static let standard = EndpointPrefix(segments: ["oauth2"])
    /// The longest that is accepted, in bytes; each sign-in has it in several URLs and cookies.
    package static let maxLength = 64

    /// The path, without a slash at its end.
    package let description: String
    /// The same as requests are compared with it.
    package let bytes: [UInt8]

    /// The byte after the first slash, by which most paths differ.
    package var initial: UInt8 { self.bytes[1] }

    private init(segments: [String]) {
        self.description = segments.map { "/\($0)" }.joined()
        self.bytes = Array(self.description.utf8)
    }

    /// A path that has one spelling only, which every server and browser leaves as it is; nil for any other text.
    ///
    /// Its segments are of unreserved characters, and none is a dot segment: RFC 3986 §2.3 and §5.2.4. Below `/.well-known` paths
    /// have the meanings of a registry, RFC 8615.
    package init?(_ text: String) {
        guard text.utf8.count <= EndpointPrefix.maxLength, text.hasPrefix("/") else { return nil }
        let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let isPlain = segments.allSatisfy { segment in
            !segment.isEmpty && segment != "." && segment != ".."
                && segment.utf8.allSatisfy(PercentEncoding.isUnreserved)
        }
        guard isPlain, segments.first != ".well-known" else { return nil }
        self.init(segments: segments)
    }

    /// The path of an endpoint, by its name and what follows that.
    package func path(_ name: String) -> String { "\(self.description)/\(name)" }

    /// The callback of a provider at a gateway of this origin, as it has to be registered.
    package func callback(of provider: String, at publicOrigin: Origin) -> String {
        "\(publicOrigin)\(self.path("callback"))/\(provider)"
    }

    /// What follows the prefix and a slash in a path; nil for one that is not below it.
    package func name(in path: String) -> Substring? {
        let below = self.bytes.count
        guard path.utf8.starts(with: self.bytes), path.utf8.dropFirst(below).first == UInt8(ascii: "/") else {
            return nil
        }
        return Substring(path.utf8.dropFirst(below + 1))
    }

    /// Whether a path of the file is the prefix, or below it.
    package func includes(_ path: String) -> Bool { isIdentical(path, self.description) || self.name(in: path) != nil }
}
