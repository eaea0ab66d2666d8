// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// The whole part of a number, or the end of the range that it is beyond; 0 for what is not a number.
    ///
    /// The standard library's conversions of floating-point numbers trap there.
    package init(saturating number: Double) {
        self = Self(exactly: number.rounded(.towardZero)) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}
