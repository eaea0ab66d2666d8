// SPDX-License-Identifier: Apache-2.0

/// Which clients are accepted without an entry in `clients`; they get tokens for MCP servers only, by the rules of those.
package struct OpenClients: Sendable, Hashable {
    /// Whether a client may be named by the https URL of its metadata document.
    ///
    /// draft-ietf-oauth-client-id-metadata-document.
    package var byURL = false
    /// The hosts of such URLs; none for all.
    package var hosts: Set<String> = []
    /// Whether clients may register themselves, RFC 7591.
    package var dynamic = false

    /// None.
    package init() {}

    /// Whether no such client is accepted.
    package var isOff: Bool { !self.byURL && !self.dynamic }
}
