// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// One way to fill a field of a profile; a field has a chain of them, of which the first with a value wins.
enum ProfileStep: Sendable, Hashable {
    /// The value as it is.
    case claim(ClaimSource)
    /// Those of the values that are there, joined; with `all`, only if all are there.
    case joined([ClaimSource], separator: String, all: Bool)
    /// A text in which each `{}` is replaced by the next value; only if there are all.
    case filled(String, [ClaimSource])
    /// The part of an address before its `@`.
    case localPart(ClaimSource)
    /// The value, unless it is the made-up principal name of a guest in another organization.
    case principalName(ClaimSource)
    /// The address in a list of `{email, primary, verified}` that is verified, the primary one before all others;
    /// none of a domain that ends with `except`.
    case verifiedEntry(ClaimSource, except: String?)
    /// Names of which the provider leaves some out, as it does with inherited memberships.
    case someNames(ClaimSource)
    /// What look-ups at the provider found.
    case lookedUp

    /// What the step reads.
    var sources: [ClaimSource] {
        switch self {
        case .claim(let source), .localPart(let source), .principalName(let source), .verifiedEntry(let source, _),
            .someNames(let source):
            [source]
        case .joined(let sources, _, _), .filled(_, let sources):
            sources
        case .lookedUp:
            []
        }
    }

    /// Whether the step reads the userinfo response.
    var readsUserinfo: Bool { self.sources.contains { $0.document == .userinfo } }

    /// The text that the step finds, not yet checked; nil if it is missing or empty.
    func text(in payloads: ProviderPayloads) -> String? {
        switch self {
        case .claim(let source):
            return payloads.value(at: source)?.profileText
        case .joined(let sources, let separator, let all):
            let texts = sources.compactMap { payloads.value(at: $0)?.profileText }
            guard all ? texts.count == sources.count : !texts.isEmpty else { return nil }
            return texts.joined(separator: separator)
        case .filled(let template, let sources):
            let texts = sources.compactMap { payloads.value(at: $0)?.profileText }
            let pieces = template.split(separator: "{}", omittingEmptySubsequences: false)
            guard texts.count == sources.count, pieces.count == texts.count + 1 else { return nil }
            return zip(pieces, texts + [""]).map { "\($0)\($1)" }.joined()
        case .localPart(let source):
            return payloads.value(at: source)?.string.flatMap(EmailAddress.init)?.local
        case .principalName(let source):
            return payloads.value(at: source)?.profileText.flatMap { $0.contains("#EXT#") ? nil : $0 }
        case .verifiedEntry(let source, let excepted):
            let verified = payloads.value(at: source)?.array?.filter { $0["verified"]?.bool == true } ?? []
            let real = verified.filter { !ProfileStep.isOf(domain: excepted, $0["email"]) }
            let chosen = real.first { $0["primary"]?.bool == true } ?? real.first
            return chosen?["email"]?.profileText
        case .someNames, .lookedUp:
            return nil
        }
    }

    /// The names that the step finds; nil if what it reads is not there.
    func names(in payloads: ProviderPayloads) -> NameList? {
        switch self {
        case .lookedUp:
            payloads.lookedUp.map { NameList(.array($0.names.map(JSON.string)), isWhole: $0.isComplete) }
        case .claim(let source) where source.filter != nil:
            payloads.names(at: source)
        case .claim(let source):
            // A response of an API may continue on another page.
            payloads.value(at: source).map { NameList($0, isWhole: source.call == nil || $0 == .array([])) }
        case .someNames(let source):
            payloads.value(at: source).map { NameList($0, isWhole: false) }
        case .joined, .filled, .localPart, .principalName, .verifiedEntry:
            self.text(in: payloads).map { NameList(.string($0)) }
        }
    }

    /// The text that the step finds for a field; of the names of a user without marks that cannot be seen.
    func text(for field: ProfileField, in payloads: ProviderPayloads) -> String? {
        let text = self.text(in: payloads)
        return [.name, .givenName, .familyName].contains(field) ? text.map(PrintableText.withoutMarks) : text
    }

    /// Whether the step has a value for the field, so that later steps are skipped.
    func hasValue(for field: ProfileField, in payloads: ProviderPayloads) -> Bool {
        let values = { self.sources.compactMap { payloads.value(at: $0) } }
        return switch field {
        case .groups, .roles: self.names(in: payloads) != nil
        case .emailVerified: values().contains { $0.profileBool != nil }
        case .locale: values().contains { $0.profileLocale != nil }
        case .authTime: values().contains { $0.profileTime != nil }
        case .subject, .email, .picture: self.text(in: payloads) != nil
        default: PrintableText.checked(self.text(for: field, in: payloads)) != nil
        }
    }

    private static func isOf(domain: String?, _ address: JSON?) -> Bool {
        guard let domain, let address = address?.string.flatMap(EmailAddress.init) else { return false }
        return address.domain == domain || address.domain.hasSuffix(".\(domain)")
    }
}

extension ProfileStep: CustomStringConvertible {
    /// The step as documents and `gatehouse profile` show it.
    var description: String {
        switch self {
        case .claim(let source): "\(source)"
        case .joined(let sources, let separator, _):
            sources.map(\.description).joined(separator: separator == " " ? " + " : " + \"\(separator)\" + ")
        case .filled(let template, let sources):
            "\(template) with \(sources.map(\.description).joined(separator: ", "))"
        case .localPart(let source): "\(source) before the @"
        case .principalName(let source): "\(source) without #EXT#"
        case .verifiedEntry(let source, let excepted):
            "\(source)[primary&&verified]/email, else [verified]/email\(excepted.map { ", none at \($0)" } ?? "")"
        case .someNames(let source): "\(source), not all of them"
        case .lookedUp: "look-up"
        }
    }
}
