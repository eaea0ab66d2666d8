// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct SealerTests {
    private let first = Secret([UInt8](repeating: 1, count: 32))
    private let second = Secret([UInt8](repeating: 2, count: 32))
    private let plain = Array("ada@example.com".utf8)

    @Test func `what was sealed opens for the same purpose and part`() {
        let sealer = Sealer([self.first])
        #expect(sealer.open(sealer.seal(self.plain, for: "cookie"), for: "cookie") == self.plain)
        #expect(sealer.open(sealer.seal([], for: "cookie"), for: "cookie") == [])
        #expect(sealer.open(sealer.seal(self.plain, for: "cookie", part: [9]), for: "cookie", part: [9]) == self.plain)
    }

    @Test func `a sealer has the secrets of another one in any order, or lacks one`() {
        let both = Sealer([self.first, self.second])
        #expect(both.hasSecrets(of: Sealer([self.second])) && Sealer([self.second, self.first]).hasSecrets(of: both))
        #expect(
            !Sealer([self.second]).hasSecrets(of: both) && !Sealer([self.first]).hasSecrets(of: Sealer([self.second]))
        )
    }

    @Test func `it opens for nothing else`() {
        let sealer = Sealer([self.first])
        let sealed = sealer.seal(self.plain, for: "cookie", part: [9])
        #expect(sealer.open(sealed, for: "cookies", part: [9]) == nil)
        #expect(sealer.open(sealed, for: "cookie", part: [8]) == nil)
        #expect(sealer.open(sealed, for: "cookie") == nil)
        #expect(Sealer([self.second]).open(sealed, for: "cookie", part: [9]) == nil)
        #expect(Sealer([]).open(sealed, for: "cookie", part: [9]) == nil)
    }

    @Test func `every flipped bit gives the one same nil`() {
        let sealer = Sealer([self.first])
        let sealed = sealer.seal(self.plain, for: "cookie")
        for position in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[position] ^= 1 << UInt8(bit)
                #expect(sealer.open(changed, for: "cookie") == nil)
            }
        }
    }

    @Test func `every shortened or lengthened text gives nil`() {
        let sealer = Sealer([self.first])
        let sealed = sealer.seal(self.plain, for: "cookie")
        for count in 0..<sealed.count {
            #expect(sealer.open(sealed.prefix(count), for: "cookie") == nil)
        }
        #expect(sealer.open(sealed + [0], for: "cookie") == nil)
    }

    @Test func `the same text sealed twice differs everywhere but in its header`() {
        let sealer = Sealer([self.first])
        let one = sealer.seal(self.plain, for: "cookie")
        let other = sealer.seal(self.plain, for: "cookie")
        #expect(one.prefix(9) == other.prefix(9))
        #expect(one[9..<41] != other[9..<41])
        #expect(one[41...] != other[41...])
    }

    @Test func `two gateways seal the same text alike, and another text or purpose under another key`() {
        let seal = { (text: [UInt8], purpose: String) in Sealer([self.first]).sealAlike(text, for: purpose) }
        let sealed = seal(self.plain, "cookie")
        #expect(sealed == seal(self.plain, "cookie"))
        #expect(Sealer([self.first]).open(sealed, for: "cookie") == self.plain)
        #expect(Sealer([self.first]).open(sealed, for: "cookies") == nil)
        for other in [seal(self.plain + [0], "cookie"), seal(self.plain, "cookies")] {
            #expect(other[9..<41] != sealed[9..<41])
        }
        #expect(Sealer([self.second]).sealAlike(self.plain, for: "cookie")[9..<41] != sealed[9..<41])
        #expect(Sealer([]).sealAlike(self.plain, for: "cookie").isEmpty)
    }

    @Test func `a rotated secret opens and no longer seals`() {
        let old = Sealer([self.first]).seal(self.plain, for: "cookie")
        let rotated = Sealer([self.second, self.first])
        #expect(rotated.open(old, for: "cookie") == self.plain)
        let new = rotated.seal(self.plain, for: "cookie")
        #expect(Sealer([self.first]).open(new, for: "cookie") == nil)
        #expect(Sealer([self.second]).open(new, for: "cookie") == self.plain)
    }

    @Test func `part and secret cannot be shifted against each other`() {
        let long = Sealer([Secret([9] + [UInt8](repeating: 1, count: 32))])
        let sealed = Sealer([self.first]).seal(self.plain, for: "cookie", part: [9])
        #expect(long.open(sealed, for: "cookie") == nil)
    }
}

@Suite struct SecretTests {
    @Test func `a secret shows itself nowhere`() {
        let secret = Secret(text: "hunter2-hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        let holder: [String: Secret?] = ["secret": secret]
        for shown in ["\(secret)", String(reflecting: secret), String(describing: holder), "\(holder)", dumped] {
            #expect(!shown.contains("hunter") && !shown.contains("104, 117"))
        }
    }

    @Test func `secrets compare by value`() {
        #expect(Secret(text: "a") == Secret(text: "a"))
        #expect(Secret(text: "a") != Secret(text: "b"))
        #expect(Secret(text: "a") != Secret(text: "aa"))
        #expect(Secret(text: "abc").withText { $0 } == "abc")
        #expect(constantTimeEquals([1, 2], [1, 2]) && !constantTimeEquals([1, 2], [1, 3]))
        #expect(!constantTimeEquals([1], [1, 2]))
    }

    @Test func `a tag is for one message and one purpose, under any of the secrets`() {
        let old = Secret([UInt8](repeating: 1, count: 32))
        let new = Secret([UInt8](repeating: 2, count: 32))
        let tag = Sealer([old]).tag(of: [1, 2, 3], for: "a", count: 10)
        #expect(tag.count == 10)
        let rotated = Sealer([new, old])
        #expect(rotated.authenticates(tag, of: [1, 2, 3], for: "a"))
        #expect(!rotated.authenticates(tag, of: [1, 2, 4], for: "a"))
        #expect(!rotated.authenticates(tag, of: [1, 2, 3], for: "b"))
        #expect(!rotated.authenticates([], of: [1, 2, 3], for: "a"))
        #expect(!Sealer([new]).authenticates(tag, of: [1, 2, 3], for: "a"))
        #expect(
            rotated.tag(of: [1, 2, 3], for: "a", count: 10) == Sealer([new]).tag(of: [1, 2, 3], for: "a", count: 10)
        )
    }
}
