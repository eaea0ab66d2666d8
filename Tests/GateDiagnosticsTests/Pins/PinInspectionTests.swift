// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOperations
import GateProviderHTTP
import GateTestSupport
import Testing

@testable import GateDiagnostics

/// What `gatehouse pins` prints of hosts.
@Suite struct PinInspectionTextTests {
    private func inspection(_ set: PinSet?, _ keys: UInt8...) throws -> PinInspection {
        let chain = try keys.map { try ProviderCertificate.stub($0, "CN=key \($0)") }
        return PinInspection(hosts: [.init(origin: try PinFixture.origin(), set: set, chain: .success(chain))])
    }

    @Test func `each certificate is shown with its end and its key, and the pin that it has`() throws {
        let text = try self.inspection(.stub(9, 2, match: .chain), 1, 2).text(now: PinFixture.start)
        #expect(text.hasPrefix("id.example.com\n"))
        for key in [1, 2] as [UInt8] {
            let pin = try Pin.stub(key)
            #expect(text.contains("CN=key \(key)\n") && text.contains("sha256 \(pin)"))
        }
        #expect(text.contains("\(try Pin.stub(2))   <- pin 2 of the file\n"))
        #expect(!text.contains("<- pin 1") && text.contains("200 days left"))
        #expect(text.contains("sha256 of the first certificate itself: \(try Pin.stub(101))"))
        #expect(text.contains("pin 2 of 2 matches; 1 of them unused now"))
    }

    @Test(
        arguments: [
            (.enforce, .report, -1, "refused (mode enforce)"), (.enforce, .report, 0, "used all the same"),
            (.report, .report, -1, "used all the same"), (.enforce, .reject, 0, "refused (the pins have expired)"),
        ] as [(PinSet.Mode, PinSet.Expired, Int64, String)]
    )
    func `a host without a pinned key is shown with what follows`(
        mode: PinSet.Mode,
        expired: PinSet.Expired,
        second: Int64,
        words: String
    ) throws {
        let end = PinFixture.start.advanced(by: .seconds(-second))
        let inspection = try self.inspection(.stub(9, mode: mode, expires: end, expired: expired), 1, 2)
        let line = inspection.text(now: PinFixture.start).split(separator: "\n").first { $0.contains("NO PIN MATCHES") }
        #expect(line?.contains(words) == true && !inspection.isGood)
    }

    @Test func `what is doubtful about pins is noted below their host`() throws {
        let set = try PinSet.stub(101, 9, match: .certificate)
        #expect(try self.inspection(set, 1).text(now: PinFixture.start).contains("\n  note: its certificate ends on "))
    }

    @Test func `a host that is not believed shows why, and nothing to pin`() throws {
        let failure = Failure(.providerTLS, "its certificate has expired")
        let host = PinInspection.Host(origin: try PinFixture.origin(), set: nil, chain: .failure(failure))
        let inspection = PinInspection(hosts: [host])
        #expect(inspection.text(now: PinFixture.start) == "id.example.com\n  provider.tls: its certificate has expired")
        #expect(!inspection.isGood)
    }

    @Test func `all is good if every host is believed and shows a pinned key, or needs none`() throws {
        #expect(try self.inspection(nil, 1, 2).isGood)
        #expect(try self.inspection(.stub(1), 1, 2).isGood)
        #expect(try !self.inspection(.stub(2), 1, 2).isGood)
        #expect(try !PinInspection(hosts: self.inspection(nil, 1).hosts + self.inspection(.stub(9), 1).hosts).isGood)
    }
}
