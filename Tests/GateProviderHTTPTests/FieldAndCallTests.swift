// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import Testing

@testable import GateProviderHTTP

@Suite struct ResponseFieldsTests {
    @Test func `names become lower case and values lose their outer white space`() {
        let fields = CallResult.fields(in: Array("Content-Type: \t application/json \t\r\nX-Empty:\r\n".utf8))
        #expect(fields?.map(\.name) == ["content-type", "x-empty"])
        #expect(fields?.map(\.value) == ["application/json", ""])
    }

    @Test(arguments: [
        "no colon\r\n", ": no name\r\n", "Na me: x\r\n", " folded: x\r\n", "A: x\u{0}y\r\n", "A: x\rB: y\n",
    ])
    func `a line that is not a field makes the response malformed`(head: String) {
        #expect(CallResult.fields(in: Array(head.utf8)) == nil)
    }
}

@Suite struct OutgoingCallTests {
    private func rejection(
        method: String = "GET",
        address: String = "https://id.example/",
        headers: [(name: String, value: String)] = [],
        limit: Int = 1,
        timeout: Duration = .seconds(1),
        allowsPlainHTTP: Bool = false,
    ) throws -> String? {
        let address = try #require(WebURL(address))
        let request = ProviderRequest(
            method: method,
            address: address,
            headers: headers,
            body: nil,
            limit: limit,
            timeout: timeout,
        )
        do {
            _ = try OutgoingCall(request, allowsPlainHTTP: allowsPlainHTTP)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `plain http leaves for this machine only`() throws {
        #expect(try self.rejection(address: "http://id.example/") == "provider.insecure_address")
        #expect(try self.rejection(address: "http://127.0.0.1:8080/") == nil)
        #expect(try self.rejection(address: "http://localhost/") == nil)
    }

    @Test func `what is not a provider may be reached without TLS where its owner allows that`() throws {
        #expect(try self.rejection(address: "http://collector.example/", allowsPlainHTTP: true) == nil)
        #expect(
            try self.rejection(method: "CONNECT", address: "http://collector.example/", allowsPlainHTTP: true)
                == "provider.bad_request"
        )
    }

    @Test(arguments: ["a\r\nB: c", "a\nb", "a\u{0}b", "a\u{7F}"])
    func `a value that is not one line never leaves`(value: String) throws {
        #expect(try self.rejection(headers: [(name: "Accept", value: value)]) == "provider.bad_request")
    }

    @Test(arguments: ["", "a b", "a:", "a\n"])
    func `a name that is not a token never leaves`(name: String) throws {
        #expect(try self.rejection(headers: [(name: name, value: "x")]) == "provider.bad_request")
    }

    @Test func `only GET and POST, with a bound on bytes and time, are sent`() throws {
        #expect(try self.rejection(method: "CONNECT") == "provider.bad_request")
        #expect(try self.rejection(limit: -1) == "provider.bad_request")
        #expect(try self.rejection(limit: OutgoingCall.largestLimit + 1) == "provider.bad_request")
        #expect(try self.rejection(timeout: .zero) == "provider.bad_request")
    }

    @Test func `less than a millisecond still counts as one`() throws {
        let address = try #require(WebURL("https://id.example/"))
        let request = ProviderRequest(
            method: "GET",
            address: address,
            headers: [],
            body: nil,
            limit: 1,
            timeout: .microseconds(5),
        )
        #expect(try OutgoingCall(request).timeoutMilliseconds == 1)
    }
}

@Suite struct CallResultTests {
    @Test(arguments: CallResult.Outcome.allCases.filter { $0 != .completed })
    func `every result but a response is a failure that names the host alone`(outcome: CallResult.Outcome) throws {
        let origin = try #require(Origin(scheme: "https", host: "id.example"))
        let result = CallResult(outcome: outcome, text: "line\r\nforged\u{1B}[2J")
        let failure = #expect(throws: Failure.self) { try result.response(from: origin) }
        let detail = try #require(failure?.detail)
        #expect(detail.hasPrefix("https://id.example"))
        #expect(detail.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(failure?.kind == .providerFailed || failure?.kind == .overloaded)
    }

    @Test(arguments: [0, 101, 600, 999])
    func `a status that no final response has is malformed`(status: Int) throws {
        let origin = try #require(Origin(scheme: "https", host: "id.example"))
        let failure = #expect(throws: Failure.self) {
            try CallResult(outcome: .completed, status: status).response(from: origin)
        }
        #expect(failure?.reason == .providerResponseMalformed)
    }
}
