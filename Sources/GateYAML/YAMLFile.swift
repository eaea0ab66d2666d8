// SPDX-License-Identifier: Apache-2.0

/// Reads the text of a YAML file into a value.
package enum YAMLFile {
    /// The maximum size of a file in bytes.
    package static let maxSize = YAMLComposer.Bounds().bytes

    /// Reads the value of a shape.
    ///
    /// - Parameters:
    ///   - shape: The shape of the whole file.
    ///   - bytes: The text.
    ///   - context: Receives the diagnostics.
    /// - Returns: The value; nil, and a diagnostic, if the text is not YAML or not of the shape.
    package static func read<Value>(
        _ shape: Shape<Value>,
        from bytes: [UInt8],
        _ context: inout DecodingContext
    ) -> Value? {
        do throws(YAMLFailure) {
            return shape.read(try YAMLComposer.document(of: bytes), &context)
        } catch {
            context.error(error.message, at: error.mark)
            return nil
        }
    }
}
