// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore

/// The key files of a folder, whose modification times are the times of the keys.
package struct KeyFiles: Sendable {
    package let folder: String

    package init(folder: String) {
        self.folder = folder
    }

    /// The paths of the files whose names are wanted, with their times, latest first.
    ///
    /// - Throws: A failure when the folder cannot be read.
    package func all(
        where isWanted: (_ name: String) -> Bool
    ) throws(Failure) -> [(path: String, created: Instant)] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: self.folder) else {
            throw Failure(.fileUnusable, "\(self.folder) cannot be read")
        }
        let paths = names.filter { isWanted($0) && !$0.hasPrefix(".") }.map { "\(self.folder)/\($0)" }
        // Sorted with fractions of a second: a key may be added in the second of the one before it.
        return paths.map { (path: $0, created: KeyFiles.created($0)) }
            .sorted { ($0.created, $0.path) > ($1.created, $1.path) }
            .map { (path: $0.path, created: Instant(seconds: Int64(saturating: $0.created))) }
    }

    private static func created(_ path: String) -> Double {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    }
}
