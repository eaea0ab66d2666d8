// SPDX-License-Identifier: Apache-2.0

/// What the caches of the event loops drop when memory is short.
package enum CacheShrinking: Sendable {
    /// What is too old to be used.
    case expired
    /// Everything.
    case all
}
