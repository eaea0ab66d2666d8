// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The settings of an upstream with the files for TLS read; equal ones share their connections.
package struct LoadedUpstream: Sendable, Hashable {
    package var settings: UpstreamSettings
    /// What the files hold; nil where no target speaks TLS.
    package let tls: UpstreamTLS?

    /// Reads the files that the settings name.
    ///
    /// - Throws: A `Failure` naming the file that cannot be read.
    package init(_ settings: UpstreamSettings) throws(Failure) {
        self.settings = settings
        let isSecure = settings.targets.contains(where: \.isSecure)
        self.tls = isSecure ? try UpstreamTLS(settings.tls ?? UpstreamTLS.Settings()) : nil
    }

    /// An upstream of targets without TLS.
    package init(withoutTLS settings: UpstreamSettings) {
        self.settings = settings
        self.tls = nil
    }
}
