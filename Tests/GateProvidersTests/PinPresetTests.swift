// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@Suite struct PinPresetTests {
    @Test(
        arguments: [
            (.google, "google-roots", 6, [.globalSign, .google]),
            (.gitHub, "github-roots", 8, [.digiCert, .isrg, .sectigo]),
            (.microsoft, "microsoft-roots", 7, [.digiCert, .microsoft]),
        ] as [(PinPreset, String, Int, Set<KnownRoot.Family>)]
    )
    func `a preset has the roots of at least two families, each once`(
        preset: PinPreset,
        name: String,
        count: Int,
        families: Set<KnownRoot.Family>
    ) {
        #expect(PinPreset(rawValue: name) == preset)
        #expect(preset.name == name)
        #expect(preset.pins.count == count)
        #expect(Set(preset.pins).count == count)
        #expect(Set(preset.roots.map(\.family)) == families)
        #expect(families.count >= 2)
    }

    @Test(arguments: PinPreset.allCases)
    func `a preset has the date on which it was compiled`(preset: PinPreset) {
        #expect(Instant(date: preset.date) != nil)
    }

    @Test(
        arguments: [
            // openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64
            ("ISRG Root X1", "C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="),
            ("GlobalSign Root CA", "K87oWBWM9UZfyddvDfoxL+8lpNyoUB2ptGtn0fv6G2Q="),
        ]
    )
    func `a root is known by its pin`(name: String, text: String) throws {
        let pin = try #require(Pin(base64: text))
        #expect(KnownRoot.named(pin)?.name == name)
    }
}

@Suite struct KnownRootTests {
    @Test(
        arguments: [
            (.google, 5), (.globalSign, 5), (.digiCert, 6), (.microsoft, 2), (.sectigo, 4), (.isrg, 2), (.amazon, 5),
        ] as [(KnownRoot.Family, Int)]
    )
    func `no line of the table is lost`(family: KnownRoot.Family, count: Int) {
        #expect(KnownRoot.all.count { $0.family == family } == count)
    }

    @Test func `each root is there once, by name and by pin`() {
        let roots = KnownRoot.all
        #expect(Set(roots.map(\.name)).count == roots.count)
        #expect(Set(roots.map(\.pin)).count == roots.count)
        #expect(Set(roots.map(\.family)) == Set(KnownRoot.Family.allCases))
        #expect(roots.allSatisfy { $0.pin.bytes.count == 32 })
    }

    @Test(arguments: KnownRoot.all)
    func `a root has siblings, all of its family and never itself`(root: KnownRoot) {
        let siblings = KnownRoot.siblings(of: root.pin)
        #expect(!siblings.isEmpty)
        #expect(siblings.allSatisfy { $0.family == root.family && $0.pin != root.pin })
        #expect(KnownRoot.named(root.pin) == root)
    }

    @Test(
        arguments: [
            ("GTS Root R4", "GTS Root R1"), ("GTS Root R1", "GTS Root R4"), ("ISRG Root X1", "ISRG Root X2"),
            ("DigiCert Global Root CA", "DigiCert Global Root G2"), ("GlobalSign Root CA", "GlobalSign Root R46"),
            ("GlobalSign ECC Root CA - R4", "GTS Root R1"),
        ]
    )
    func `the root that is most in use comes first`(name: String, first: String) throws {
        let root = try #require(KnownRoot.all.first { $0.name == name })
        #expect(KnownRoot.siblings(of: root.pin).first?.name == first)
    }

    @Test func `an unknown pin has no name and no siblings`() throws {
        let pin = try #require(Pin([UInt8](repeating: 0, count: 32)))
        #expect(KnownRoot.named(pin) == nil)
        #expect(KnownRoot.siblings(of: pin).isEmpty)
    }
}
