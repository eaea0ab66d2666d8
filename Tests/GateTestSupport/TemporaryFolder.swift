// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A folder that is deleted with the last reference to it.
package final class TemporaryFolder: Sendable {
    /// The path of the folder.
    package let path: String

    /// Creates a new empty folder.
    package init() throws {
        self.path = FileManager.default.temporaryDirectory.appending(path: "gatehouse-\(UUID())").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// The permission bits of a file below the folder.
    package func mode(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(self.path)/\(name)")
        return attributes[.posixPermissions] as? Int
    }
}
