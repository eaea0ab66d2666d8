// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
internal import HTTPTypes
internal import NIOCore

/// A style sheet, script or picture of our pages: its bytes, which all responses refer to, also compressed.
package struct StaticAsset: Sendable {
    private let type: String
    private let bytes: ByteBuffer
    private let compressed: ByteBuffer?

    /// An asset of a media type; texts are compressed, once.
    package init(_ type: String, _ bytes: [UInt8]) {
        self.type = type
        self.bytes = ByteBuffer(bytes: bytes)
        let isText = type.hasPrefix("text/") || type == "image/svg+xml"
        self.compressed = isText ? Compression.compress(bytes, as: .gzip).map { ByteBuffer(bytes: $0) } : nil
    }

    /// The response with it.
    ///
    /// - Parameters:
    ///   - isVersioned: Whether the URL has its hash, so that it may be kept for good.
    ///   - acceptsGzip: Whether the client reads gzip.
    /// - Returns: The response.
    package func response(isVersioned: Bool = false, acceptsGzip: Bool = false) -> Response {
        var fields: HTTPFields = [.contentType: self.type]
        fields[.cacheControl] = isVersioned ? "public, max-age=31536000, immutable" : "public, max-age=3600"
        fields[.xContentTypeOptions] = "nosniff"
        // A picture in SVG that is opened as a page could have scripts.
        fields[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        if self.compressed != nil { fields[.vary] = "Accept-Encoding" }
        let compressed = acceptsGzip ? self.compressed : nil
        if compressed != nil { fields[.contentEncoding] = "gzip" }
        var response = Response(200, fields: fields)
        response.sharedBody = compressed ?? self.bytes
        return response
    }
}
