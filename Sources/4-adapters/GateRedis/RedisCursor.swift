// SPDX-License-Identifier: Apache-2.0

/// Where a page of a sorted set begins: after a member with its score.
///
/// As bytes: the length of the score, the score as Redis writes it, the member.
struct RedisCursor: Equatable {
    /// The score of the last member of the page before.
    let score: [UInt8]
    /// The last member of the page before; empty for the first page.
    let member: [UInt8]

    /// A cursor after a member.
    init(score: [UInt8], member: [UInt8]) {
        self.score = score
        self.member = member
    }

    /// Reads a cursor, which may have been changed on its way; nil if it is not valid.
    ///
    /// Empty bytes are the start.
    init?(bytes: [UInt8]) {
        guard let first = bytes.first else {
            self.init(score: [UInt8(ascii: "0")], member: [])
            return
        }
        let count = Int(first)
        guard (1...24).contains(count), bytes.count > 1 + count, bytes.count <= 1 + count + 64 else { return nil }
        let score = Array(bytes[1...count])
        guard Double(String(decoding: score, as: UTF8.self))?.isFinite == true else { return nil }
        self.init(score: score, member: Array(bytes[(1 + count)...]))
    }

    var bytes: [UInt8] { [UInt8(self.score.count)] + self.score + self.member }

    /// The command for the members after the cursor: one more than `count`, which shows whether there are more.
    func query(of set: String, count: Int) -> RedisCommand {
        RedisScript.page.command(set).with(self.score).with(self.member).with(Int64(count + 1))
    }

    /// The members of a reply to ``query(of:count:)``, and the cursor of the next page.
    static func page(_ reply: RESPValue, count: Int) -> (members: [[UInt8]], next: RedisCursor?)? {
        guard let values = reply.values?.map(\.bytes), values.count.isMultiple(of: 2) else { return nil }
        var members: [[UInt8]] = []
        var last: RedisCursor?
        for index in stride(from: 0, to: min(values.count, 2 * count), by: 2) {
            guard let member = values[index], let score = values[index + 1], score.count <= 24 else { return nil }
            members.append(member)
            last = RedisCursor(score: score, member: member)
        }
        return (members, values.count > 2 * count ? last : nil)
    }
}
