// SPDX-License-Identifier: Apache-2.0

import GateOperations
import Testing

@Suite struct MinuteHistoryTests {
    @Test func `each minute has what it added, the one in progress is the last`() {
        let history = MinuteHistory(totals: [100, 7])
        history.endMinute(totals: [103, 7])
        history.endMinute(totals: [103, 9])
        let columns = history.columns(totals: [108, 9])
        #expect(columns.map(\.count) == [60, 60])
        #expect(columns.map { Array($0.suffix(4)) } == [[0, 3, 0, 5], [0, 0, 2, 0]])
        #expect(columns[0].dropLast(3).allSatisfy { $0 == 0 })
    }

    @Test func `an hour later a minute is gone`() {
        let history = MinuteHistory(totals: [0])
        for minute in 1...200 { history.endMinute(totals: [Int64(minute * minute)]) }
        let column = history.columns(totals: [200 * 200 + 1])[0]
        #expect(column.count == MinuteHistory.minutes && column.last == 1)
        #expect(column.first == Int64(142 * 142 - 141 * 141))
    }

    @Test func `a counter that begins again adds nothing`() {
        let history = MinuteHistory(totals: [50])
        history.endMinute(totals: [3])
        #expect(history.columns(totals: [4])[0].suffix(2) == [0, 1])
    }
}
