// SPDX-License-Identifier: Apache-2.0

/// Whether two texts are the same bytes; `==` would also take a Kelvin sign for a `K`.
///
/// Names of users, groups and issuers are compared this way: two names that look the same may have two owners.
package func isIdentical(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
}
