// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateWire
import HTTPTypes
import Testing

@testable import GateHeaders

@Suite struct CheckRequestTests {
    /// The fields of `HttpRequest` for a GET.
    private static func http(
        _ headers: [(name: String, value: String)] = [],
        more: (inout ProtobufWriter) -> Void = { _ in }
    ) -> [UInt8] {
        var http = ProtobufWriter()
        http.bytes(2, "GET".utf8)
        http.bytes(4, "/a?b".utf8)
        http.bytes(5, "wiki.example.com".utf8)
        http.message(13) { map in
            self.header("x-mine", "1", to: &map)
            self.header(":path", "/a?b", to: &map)
            for one in headers { self.header(one.name, one.value, to: &map) }
        }
        more(&http)
        return http.bytes
    }

    private static func header(_ name: String, _ value: String, to map: inout ProtobufWriter) {
        map.message(1) { header in
            header.bytes(1, name.utf8)
            header.bytes(3, value.utf8)
        }
    }

    /// A body around `HttpRequest`.
    private static func body(_ http: [UInt8]) -> [UInt8] {
        var message = ProtobufWriter()
        message.message(1) { attributes in attributes.message(4) { $0.bytes(2, http) } }
        return self.framed(message.bytes)
    }

    private static func framed(_ message: [UInt8]) -> [UInt8] {
        [0, 0, 0, UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
    }

    private func head(_ http: [UInt8]) throws -> RequestHead {
        try CheckRequest(body: Self.body(http)).head(below: "/oauth2/auth", names: FieldNames())
    }

    @Test func `a message is the request of the client, and unknown fields are skipped`() throws {
        let head = try self.head(
            Self.http { http in
                http.number(9, .max)
                http.message(99) { $0.bytes(1, [0xFF, 0xFF]) }
            }
        )
        #expect(head.method == .get && head.target == "/oauth2/auth/a?b" && head.authority.text == "wiki.example.com")
        #expect(head.message.fields.map { head.message.text($0.nameRange) } == ["Host", "x-mine"])
    }

    @Test(arguments: [
        [], [0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 2, 0x0A, 0x05],
        // A field of number 0, groups, an unknown wire type, and numbers that do not end or are too large.
        [0, 0, 0, 0, 2, 0x02, 0x00], [0, 0, 0, 0, 1, 0x0B], [0, 0, 0, 0, 1, 0x0C], [0, 0, 0, 0, 2, 0x0E, 0],
        [0, 0, 0, 0, 1, 0x80], [0, 0, 0, 0, 11, 0x08] + [UInt8](repeating: 0xFF, count: 10),
        [0, 0, 0, 0, 10, 0x0A] + [UInt8](repeating: 0xFF, count: 8) + [0x01],
        // A number in place of the attributes.
        [0, 0, 0, 0, 2, 0x08, 0x01],
    ])
    func `a body that is not one whole message is malformed`(body: [UInt8]) {
        #expect(throws: Failure.self) { try CheckRequest(body: body) }
    }

    @Test func `every end of a message before its own is malformed`() throws {
        let whole = Array(Self.body(Self.http())[5...])
        for count in whole.indices {
            #expect(throws: Failure.self) { try CheckRequest(body: Self.framed(Array(whole[..<count]))) }
        }
        _ = try CheckRequest(body: Self.framed(whole))
    }

    @Test func `what may be there once is malformed if it is there twice`() {
        for field in [UInt64(2), 4, 5, 13] {
            #expect(throws: Failure.self) { try self.head(Self.http { $0.bytes(field, []) }) }
        }
        let http = Self.http()
        var message = ProtobufWriter()
        for _ in 0..<2 { message.message(1) { attributes in attributes.message(4) { $0.bytes(2, http) } } }
        #expect(throws: Failure.self) { try CheckRequest(body: Self.framed(message.bytes)) }
    }

    @Test(arguments: [UInt64(2), 4, 5])
    func `text is UTF-8`(field: UInt64) {
        var http = ProtobufWriter()
        for other in [UInt64(2), 4, 5] where other != field { http.bytes(other, "/a".utf8) }
        http.bytes(field, [0x2F, 0xC3, 0x28])
        http.message(13) { Self.header("a", "b", to: &$0) }
        #expect(throws: Failure.self) { try self.head(http.bytes) }
    }

    @Test(arguments: [
        ("x-a\r\nx-forwarded-user", "evil"), ("x-a", "b\r\nx-forwarded-user: evil"), ("x-a", "b\nc"), ("x-a", "b\0c"),
        ("x-a: b", "c"), ("", "a"), ("x a", "b"), ("x_forwarded_user", "evil"), ("authorization", "a\u{7F}"),
    ])
    func `no header ends its line or has the name of another`(name: String, value: String) {
        #expect(throws: Failure.self) { try self.head(Self.http([(name, value)])) }
    }

    /// Envoy fills one of the two.
    @Test func `Q-12 a header has one value, as text or as bytes, and never a joined one`() throws {
        func http(_ text: String, _ raw: String) -> [UInt8] {
            var request = ProtobufWriter()
            request.bytes(2, "GET".utf8)
            request.bytes(4, "/".utf8)
            request.bytes(5, "a".utf8)
            request.message(13) { map in
                map.message(1) { header in
                    header.bytes(1, "authorization".utf8)
                    header.bytes(2, text.utf8)
                    header.bytes(3, raw.utf8)
                }
            }
            return request.bytes
        }
        for (text, raw) in [("Bearer ", "x"), ("Bearer x", "Bearer x"), (" ", "x"), ("x", "\t")] {
            #expect(throws: Failure.self, "\(text)\(raw)") { try self.head(http(text, raw)) }
        }
        for (text, raw) in [("Bearer x", ""), ("", "Bearer x")] {
            #expect(try self.head(http(text, raw)).message.value(.authorization) == "Bearer x")
        }
    }

    @Test func `two fields of a name stay two`() throws {
        #expect(throws: Failure.self) { try self.head(Self.http([("authorization", "a"), ("authorization", "b")])) }
        #expect(try self.head(Self.http([("x-a", "a"), ("x-a", "b")])).message.fields.count == 4)
    }

    @Test(arguments: [
        ("GET /x HTTP/1.1\r\nA:", "/a", "a"), ("GET", "/a b", "a"), ("GET", "a", "a"), ("GET", "/a", "a\r\nb: c"),
        ("GET", "/a", ""), ("", "/a", "a"), ("GET", "/a#b", "a"),
    ])
    func `nor does method, path or host`(method: String, path: String, host: String) {
        var http = ProtobufWriter()
        http.bytes(2, method.utf8)
        http.bytes(4, path.utf8)
        http.bytes(5, host.utf8)
        http.message(13) { Self.header("a", "b", to: &$0) }
        #expect(throws: Failure.self) { try self.head(http.bytes) }
    }

    @Test func `headers as a map, in which those of one name are joined, are not read`() {
        var http = ProtobufWriter()
        http.bytes(2, "GET".utf8)
        http.bytes(4, "/a".utf8)
        http.bytes(5, "a".utf8)
        http.message(3) { entry in
            entry.bytes(1, "a".utf8)
            entry.bytes(2, "b".utf8)
        }
        #expect(throws: Failure.self) { try self.head(http.bytes) }
    }

    @Test func `a number of headers beyond all limits is malformed`() {
        let headers = (0...300).map { (name: "a\($0)", value: "") }
        #expect(throws: Failure.self) { try CheckRequest(body: Self.body(Self.http(headers))) }
    }
}

@Suite struct CheckResponseTests {
    /// The fields of a message.
    private func fields(_ bytes: ArraySlice<UInt8>) throws -> [(UInt64, ProtobufReader.Value)] {
        var reader = ProtobufReader(bytes)
        var fields: [(UInt64, ProtobufReader.Value)] = []
        while let field = try reader.next() { fields.append((field.number, field.value)) }
        return fields
    }

    @Test func `a request may pass by a status of 0 only, and with no denial beside it`() throws {
        let passes = CheckResponse.body(of: Response(200, fields: [.setCookie: "a=b", .cookie: "", .accept: "x"]))
        #expect(passes[0] == 0 && passes[4] == UInt8(passes.count - 5))
        let fields = try self.fields(passes[5...])
        try #require(fields.map(\.0) == [1, 3])
        #expect(try fields[0].1.bytes(of: "status").isEmpty)
        // The cookie is for the client, an empty value removes the client's field, and no caching is for the app.
        let parts = try self.fields(try fields[1].1.bytes(of: "ok"))
        #expect(parts.map(\.0).sorted() == [2, 5, 6])
    }

    @Test(arguments: [204, 303, 401, 403, 404, 500, 503])
    func `any other status denies`(status: Int) throws {
        let fields = try self.fields(CheckResponse.body(of: .text(status, "why"))[5...])
        try #require(fields.map(\.0) == [1, 2])
        let denial = try self.fields(try fields[1].1.bytes(of: "denied"))
        guard case .number(let code) = try self.fields(try denial[0].1.bytes(of: "status"))[0].1 else {
            Issue.record("no status")
            return
        }
        #expect(Int(code) == status)
        #expect(try denial.last?.1.bytes(of: "body").elementsEqual("why".utf8) == true)
    }
}
