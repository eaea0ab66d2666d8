// SPDX-License-Identifier: Apache-2.0

/// Whether two texts are the same bytes; `==` would also take a Kelvin sign for a `K`.
///
/// What names a person, a group or an issuer is compared so: two names that look the same may be two owners'.
package func isIdentical(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
}
