// SPDX-License-Identifier: Apache-2.0

/// Converts the configuration of one product.
///
/// Nothing may admit a user, or make a path public, that the source does not: what cannot be expressed admits fewer
/// users, or none.
protocol ProductImport {
    /// The name of the product, for the first line of the result.
    static var product: String { get }

    /// Converts the files of one configuration.
    func configuration(
        from files: [ImportFile],
        _ notes: inout ImportNotes
    ) throws(ImportFailure) -> ImportedConfiguration
}
