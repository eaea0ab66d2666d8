// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateOperations
internal import GateProviderHTTP

extension PinInspection {
    /// What ``text(now:)`` shows, for scripts: an object with `good` and `hosts`.
    package var json: JSON {
        ["good": .bool(self.isGood), "hosts": .array(self.hosts.map(Self.json))]
    }

    private static func json(of host: Host) -> JSON {
        var members: [String: JSON] = ["host": .string(host.origin.authority), "pins": .null, "failure": .null]
        switch host.chain {
        case .failure(let failure):
            members["failure"] = ["code": .string(failure.code), "detail": .string(failure.detail)]
            members["certificates"] = []
        case .success(let chain):
            let known = PinnedHost(set: host.set, chain: chain)
            members["certificates"] = .array(
                chain.enumerated().map { position, certificate in
                    [
                        "subject": .string(certificate.name), "issuer": .string(certificate.issuer),
                        "not_after": .int(certificate.notAfter.seconds),
                        "public_key": certificate.publicKeyPin.map { .string("\($0)") } ?? .null,
                        "certificate": certificate.certificatePin.map { .string("\($0)") } ?? .null,
                        "pin": known.pin(at: position).map { .int(Int64($0 + 1)) } ?? .null,
                    ]
                }
            )
            if let set = host.set {
                members["pins"] = ["count": .int(Int64(set.pins.count)), "matches": .bool(known.firstMatch != nil)]
            }
        }
        return .object(members)
    }
}
