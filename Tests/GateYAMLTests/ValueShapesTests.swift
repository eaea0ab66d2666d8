// SPDX-License-Identifier: Apache-2.0

import GateTestSupport
import Testing

@testable import GateYAML

@Suite struct DurationTests {
    @Test(
        arguments: [
            ("30s", Duration.seconds(30)), ("15m", .seconds(900)), ("12h", .seconds(43_200)), ("7d", .seconds(604_800)),
            ("0s", .zero), ("999999999d", .seconds(86_399_999_913_600)), ("1h30m", .seconds(5400)),
            ("1w", .seconds(604_800)), ("1w2d3h4m5s", .seconds(788_645)),
        ])
    func `Z-07: a duration is whole numbers with units, the longest first`(text: String, duration: Duration) {
        #expect(Duration(yamlText: text) == duration)
    }

    @Test(arguments: [
        "", "s", "12", "-1s", "+1s", "1.5h", "1 h", "30m1h", "1h1h", "1h30", "1h-30m", "10S", "9999999999s",
        "\u{0661}s", "1ms",
    ])
    func `a text without unit, or with one twice or out of order, is not a duration`(text: String) {
        #expect(Duration(yamlText: text) == nil)
    }

    @Test(
        arguments: [
            (Duration.zero, "0s"), (.milliseconds(100), "100ms"), (.seconds(75), "75s"), (.seconds(60), "1m"),
            (.seconds(86_400), "1d"), (.seconds(604_800), "7d"),
        ])
    func `a duration is written in the largest unit up to days of which it is a whole number`(
        duration: Duration,
        text: String
    ) {
        #expect(duration.yamlText == text)
        #expect(Duration(yamlText: text, takesMilliseconds: true) == duration)
    }

    @Test(arguments: [(0, "0"), (1024, "1KiB"), (65_535, "65535"), (100 << 20, "100MiB"), (1 << 40, "1024GiB")])
    func `a size is written in the largest unit of which it is a whole number`(bytes: Int, text: String) throws {
        #expect(bytes.sizeText == text)
        #expect(try Int(sizeText: text) == bytes)
    }

    @Test(arguments: HostileNumbers.texts + ["999999999w999999999d999999999h999999999m999999999s", "999999999999"])
    func `B-05: a duration or a size of any length is read or rejected`(text: String) throws {
        for unit in ["", "ms", "s", "m", "h", "d", "w"] {
            for takesMilliseconds in [false, true] {
                let read = Duration(yamlText: text + unit, takesMilliseconds: takesMilliseconds)
                #expect(read.map { $0 >= .zero && !$0.yamlText.isEmpty } ?? true)
            }
        }
        for unit in ["", "KiB", "MiB", "GiB", "TiB"] {
            let size = try? Int(sizeText: text + unit)
            #expect(size.map { $0 >= 0 && !$0.sizeText.isEmpty } ?? true)
        }
    }
}

@Suite struct SecretMaskTests {
    @Test func `a concealed place shows as stars and keeps its columns`() {
        var mask = SecretMask()
        mask.conceal(from: YAMLMark(line: 2, column: 4), to: YAMLMark(line: 2, column: 7))
        #expect(mask.applied(to: "a: xyz # b", line: 2) == "a: *** # b")
        #expect(mask.applied(to: "a: xyz # b", line: 3) == "a: xyz # b")
    }

    @Test(
        arguments: [
            ("  client_secret: \"hunter2", "  client_secret: \"*******"),
            ("  secret: ${env:NAME}", "  secret: ${env:NAME}"),
            ("  Password: x", "  Password: *"), ("  client_id: x", "  client_id: x"), ("# a secret", "# a secret"),
        ])
    func `a line that speaks of a secret is shown without what follows`(line: String, shown: String) {
        #expect(SecretMask().applied(to: line, line: 1) == shown)
    }
}
