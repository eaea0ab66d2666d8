// SPDX-License-Identifier: Apache-2.0

extension DecodingContext {
    /// The maximum size of a file in bytes.
    package static let maxFileSize = YAMLComposer.Bounds().bytes

    /// Reads the value of a shape from a whole file.
    ///
    /// - Parameters:
    ///   - shape: The shape of the whole file.
    ///   - bytes: The text.
    ///   - prepare: Changes the document before it is read.
    /// - Returns: The value; nil, and a diagnostic, if the text is not YAML or not of the shape.
    package mutating func read<Value>(
        _ shape: Shape<Value>,
        from bytes: [UInt8],
        preparedBy prepare: (YAMLNode, inout DecodingContext) -> YAMLNode = { node, _ in node }
    ) -> Value? {
        do throws(YAMLFailure) {
            let document = prepare(try YAMLComposer.document(of: bytes), &self)
            return shape.read(document, &self)
        } catch {
            self.error(error.message, at: error.mark)
            return nil
        }
    }
}
