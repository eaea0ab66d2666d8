// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire

/// A path as an app server may see it, for the comparison with patterns.
struct PathView: Sendable {
    /// The path in the server.
    let path: [UInt8]
    /// How it is spelled.
    let spelling: PathPattern.Spelling

    /// All views of a canonical path; letters are folded only where the caller asks for it.
    ///
    /// - Parameters:
    ///   - path: The canonical path.
    ///   - guardsSpellings: Whether spellings count that only some servers treat as the same path.
    ///   - folds: Whether letter case is left aside too.
    /// - Returns: The views, that of the path itself first; nil if no list of them would be complete.
    static func all(of path: Span<UInt8>, guardsSpellings: Bool, folds: Bool = false) -> [PathView]? {
        let bytes = path.indices.map { path[$0] }
        let own = PathView(path: bytes, spelling: .canonical)
        guard guardsSpellings else { return [own] }
        guard !PathReadings.isPlain(path) else {
            return folds ? [own, PathView(path: PathNormalization.folded(bytes), spelling: .folded)] : [own]
        }
        guard let readings = PathReadings.all(of: bytes) else { return nil }
        return [own]
            + readings.flatMap { reading -> [PathView] in
                let view = PathView(path: reading.path, spelling: reading.isDecoded ? .decoded : .canonical)
                // What still has escapes is folded once these are decoded.
                guard folds, !PercentEncoding.isEscaped(reading.path) else { return [view] }
                return [view, PathView(path: PathNormalization.folded(reading.path), spelling: .folded)]
            }
    }
}
