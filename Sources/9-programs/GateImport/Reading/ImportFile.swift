// SPDX-License-Identifier: Apache-2.0

/// The products whose configuration can be imported, by their names on the command line.
package enum ImportFormat: String, Sendable, CaseIterable {
    /// oauth2-proxy: flags, environment, `.cfg` and alpha configuration.
    case oauth2Proxy = "oauth2-proxy"
    /// Apache with mod_auth_openidc.
    case modAuthOpenIDC = "mod_auth_openidc"
    /// Authelia, its access rules.
    case authelia
    /// Pomerium, its routes and policies.
    case pomerium
}

/// A file that is imported.
package struct ImportFile: Sendable {
    package enum Kind: Sendable {
        /// Found out from the content.
        case automatic
        /// oauth2-proxy's alpha configuration in YAML.
        case alpha
        /// `OAUTH2_PROXY_…` variables, one a line.
        case environment
        /// Command line flags of oauth2-proxy in any text: a script, a unit, a compose file or a manifest.
        case flags
        /// The file that `authenticated_emails_file` names.
        case emails
    }

    /// The maximum size in bytes.
    package static let maxSize = 1 << 20
    /// The maximum number of files of one import.
    package static let maxFiles = 16
    /// The maximum length of a line in bytes.
    static let maxLine = 16 << 10
    /// The maximum number of lines.
    static let maxLines = 50_000

    /// The name as messages show it.
    package let name: String
    /// What it is.
    package let kind: Kind
    /// The content.
    package let bytes: [UInt8]

    package init(name: String, kind: Kind = .automatic, bytes: [UInt8]) {
        self.name = name
        self.kind = kind
        self.bytes = bytes
    }
}

/// One line of a text.
struct SourceLine: Sendable {
    let text: String
    let place: ImportPlace
}

extension ImportFile {
    /// The lines, without their breaks.
    func lines() throws(ImportFailure) -> [SourceLine] {
        guard let text = String(validating: self.bytes, as: UTF8.self) else {
            throw ImportFailure("the file is not UTF-8; save it as UTF-8", at: ImportPlace(file: self.name, line: 1))
        }
        var lines: [SourceLine] = []
        // By bytes: a carriage return and a line feed are one character.
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let place = ImportPlace(file: self.name, line: lines.count + 1)
            guard lines.count < ImportFile.maxLines else {
                throw ImportFailure("the file has more than \(ImportFile.maxLines) lines", at: place)
            }
            guard line.count <= ImportFile.maxLine else {
                throw ImportFailure("the line is longer than \(ImportFile.maxLine >> 10) KiB", at: place)
            }
            var text = String(Substring(line))
            if text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
            if lines.isEmpty, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
            let isText = text.unicodeScalars.allSatisfy { $0.value == 0x09 || ($0.value >= 0x20 && $0.value != 0x7F) }
            guard isText else { throw ImportFailure("control characters are not allowed", at: place) }
            lines.append(SourceLine(text: text, place: place))
        }
        return lines
    }
}
