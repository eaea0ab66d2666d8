// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions
internal import GateWire

/// The client of the operations API, as the audit log names it.
enum OperationsCaller: Sendable, Hashable, CustomStringConvertible {
    /// A process at the Unix socket, with the user id that the kernel reports.
    case user(UInt32)
    /// A client over TCP with the token.
    case token

    var description: String {
        switch self {
        case .user(let id): "uid \(id)"
        case .token: "token"
        }
    }
}

/// Why the operations API does not carry out a request.
struct OperationsRejection: Error, Sendable {
    let status: Int
    let message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// The parameters of a request to the operations API: the query of a GET, the JSON object of a POST.
///
/// Each is taken once; one that no endpoint has taken is an error, so that a misspelled filter never selects everything.
struct OperationsParameters {
    private var members: [String: JSON]

    /// The maximum length of a text.
    private static let maxText = 1024

    init(_ request: RequestHead, body: [UInt8]) throws(OperationsRejection) {
        guard request.method == .post else {
            guard let query = Form(encoded: request.queryText ?? "") else {
                throw OperationsRejection(400, "the query is not a form")
            }
            self.members = [:]
            for field in query.fields where self.members.updateValue(.string(field.value), forKey: field.name) != nil {
                throw OperationsRejection(400, "'\(field.name)' is repeated")
            }
            return
        }
        let type = request.message.value(.contentType)?.lowercased() ?? ""
        guard type == "application/json" || type.hasPrefix("application/json;") else {
            throw OperationsRejection(415, "the body must be application/json")
        }
        guard let members = (try? JSON(parsing: body, depth: 3))?.object else {
            throw OperationsRejection(400, "the body is not a JSON object")
        }
        self.members = members
    }

    /// A text of 1 to 1024 bytes; nil if it is absent.
    mutating func text(_ name: String) throws(OperationsRejection) -> String? {
        guard let value = self.members.removeValue(forKey: name), value != .null else { return nil }
        guard let text = value.string, (1...OperationsParameters.maxText).contains(text.utf8.count) else {
            throw OperationsRejection(400, "'\(name)' is not a text of 1 to \(OperationsParameters.maxText) bytes")
        }
        return text
    }

    /// A list of such texts, with at most `limit` of them; empty if it is absent.
    mutating func texts(_ name: String, limit: Int) throws(OperationsRejection) -> [String] {
        guard let value = self.members.removeValue(forKey: name), value != .null else { return [] }
        let texts = value.string.map { [$0] } ?? value.array?.compactMap(\.string) ?? []
        guard (1...limit).contains(texts.count), texts.count == value.array?.count ?? 1,
            texts.allSatisfy({ (1...OperationsParameters.maxText).contains($0.utf8.count) })
        else { throw OperationsRejection(400, "'\(name)' is not a list of 1 to \(limit) texts") }
        return texts
    }

    /// A whole number in a range; nil if it is absent.
    mutating func number(_ name: String, _ range: ClosedRange<Int64>) throws(OperationsRejection) -> Int64? {
        guard let value = self.members.removeValue(forKey: name), value != .null else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }), range.contains(number) else {
            throw OperationsRejection(400, "'\(name)' is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Whether a flag is set.
    mutating func flag(_ name: String) throws(OperationsRejection) -> Bool {
        guard let value = self.members.removeValue(forKey: name), value != .null else { return false }
        switch value {
        case .bool(let flag): return flag
        case .string("true"): return true
        case .string("false"): return false
        default: throw OperationsRejection(400, "'\(name)' is neither true nor false")
        }
    }

    /// Where a page begins.
    mutating func cursor() throws(OperationsRejection) -> [UInt8] {
        guard let text = try self.text("cursor") else { return [] }
        guard let cursor = Base64URL.decode(text) else {
            throw OperationsRejection(400, "'cursor' is not the 'next' of another page")
        }
        return cursor
    }

    /// Takes what a list of things that users have is asked for with: a user, or a page of all users.
    ///
    /// - Parameters:
    ///   - name: The name of the list in the response.
    ///   - standard: The number of users on a page if the request names none.
    ///   - ofUser: What a user has.
    ///   - page: A page of users and what they have, and the number of entries that cannot be read.
    ///   - json: The entries of one user.
    /// - Returns: The response.
    /// - Throws: If a parameter is wrong, or what `ofUser` and `page` throw.
    mutating func list<Owned: Sendable>(
        _ name: String,
        limit standard: Int64,
        ofUser: (String) async throws -> Owned?,
        page: ([UInt8], Int) async throws -> (StorePage<Owned>, unreadable: Int),
        _ json: (Owned) -> [JSON]
    ) async throws -> JSON {
        let user = try self.text("user")
        let limit = Int(try self.number("limit", 1...1000) ?? standard)
        let cursor = try self.cursor()
        try self.end()
        if let user {
            let found = try await ofUser(user)
            return .object([name: .array(found.map(json) ?? []), "unreadable": 0])
        }
        let (found, unreadable) = try await page(cursor, limit)
        return .object([
            name: .array(found.items.flatMap(json)), "unreadable": .int(Int64(unreadable)),
            "next": JSON(cursor: found.next),
        ])
    }

    /// Rejects parameters that were not taken.
    func end() throws(OperationsRejection) {
        guard let name = self.members.keys.sorted().first else { return }
        throw OperationsRejection(400, "there is no parameter '\(PrintableText.escaped(name, limit: 100))' here")
    }
}

extension JSON {
    /// Where the next page begins, in a response; null after the last page.
    init(cursor: [UInt8]?) {
        self = cursor.map { .string(Base64URL.encode($0)) } ?? .null
    }
}
