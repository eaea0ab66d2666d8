// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateHTTP
import GateTestSupport
import HTTPTypes
import NIOCore
import Testing

@testable import GateRuntime

@Suite struct StaticAssetTests {
    private let text = String(repeating: ".button { color: red; }\n", count: 100)

    @Test func `a text is compressed for clients that read gzip, and is the same for all others`() throws {
        let asset = StaticAsset("text/css; charset=utf-8", Array(self.text.utf8))
        let plain = asset.response()
        #expect(plain.sharedBody.map { String(buffer: $0) } == self.text)
        #expect(plain.head.headerFields[.contentEncoding] == nil)
        let compressed = asset.response(acceptsGzip: true)
        let body = try #require(compressed.sharedBody)
        #expect(compressed.head.headerFields[.contentEncoding] == "gzip" && body.readableBytes < 200)
        #expect(
            plain.head.headerFields[.vary] == "Accept-Encoding"
                && compressed.head.headerFields[.vary] == "Accept-Encoding"
        )
        #expect(try self.gunzipped(Array(body.readableBytesView)) == self.text)
    }

    @Test func `pictures with a compression of their own, and what does not become shorter, are left as they are`() {
        for asset in [StaticAsset("image/png", Array(self.text.utf8)), StaticAsset("text/css", [0x61])] {
            let response = asset.response(acceptsGzip: true)
            #expect(response.head.headerFields[.contentEncoding] == nil && response.head.headerFields[.vary] == nil)
        }
    }

    /// What another program makes of it.
    private func gunzipped(_ bytes: [UInt8]) throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "asset-\(UUID().uuidString).gz")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try ChildProcess("/usr/bin/gzip", ["-dc", file.path])
        return String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
    }
}
