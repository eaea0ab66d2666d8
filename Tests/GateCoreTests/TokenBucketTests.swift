// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct TokenBucketTests {
    private let rate = TokenBucket.Rate(2, in: .seconds(1), burst: 3)

    @Test func `a bucket gives its burst at once, then its rate`() {
        var bucket = TokenBucket()
        for _ in 0..<3 { #expect(bucket.take(self.rate, at: .seconds(100)) == nil) }
        #expect(bucket.take(self.rate, at: .seconds(100)) == .milliseconds(500))
        #expect(bucket.take(self.rate, at: .milliseconds(100_499)) == .milliseconds(1))
        #expect(bucket.take(self.rate, at: .milliseconds(100_500)) == nil)
        #expect(bucket.take(self.rate, at: .milliseconds(100_500)) != nil)
    }

    @Test func `a clock may begin before zero`() {
        var bucket = TokenBucket()
        for _ in 0..<3 { #expect(bucket.take(self.rate, at: .seconds(-100)) == nil) }
        #expect(bucket.take(self.rate, at: .seconds(-100)) == .milliseconds(500))
    }

    @Test func `a bucket never holds more than its burst, and asking takes nothing`() {
        var bucket = TokenBucket()
        #expect(bucket.take(self.rate, at: .zero) == nil)
        for _ in 0..<3 {
            #expect(bucket.wait(self.rate, at: .seconds(900)) == nil)
            #expect(bucket.take(self.rate, at: .seconds(900)) == nil)
        }
        #expect(bucket.wait(self.rate, at: .seconds(900)) == .milliseconds(500))
    }
}
