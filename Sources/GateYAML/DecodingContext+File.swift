// SPDX-License-Identifier: Apache-2.0

extension DecodingContext {
    /// The maximum size of a file in bytes.
    package static let maxFileSize = YAMLComposer.Bounds().bytes

    /// Reads the value of a shape from a whole file.
    ///
    /// - Parameters:
    ///   - shape: The shape of the whole file.
    ///   - bytes: The text.
    /// - Returns: The value; nil, and a diagnostic, if the text is not YAML or not of the shape.
    package mutating func read<Value>(_ shape: Shape<Value>, from bytes: [UInt8]) -> Value? {
        do throws(YAMLFailure) {
            return shape.read(try YAMLComposer.document(of: bytes), &self)
        } catch {
            self.error(error.message, at: error.mark)
            return nil
        }
    }
}
