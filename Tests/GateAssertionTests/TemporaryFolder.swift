// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder that is gone when the last reference to it is.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.appending(path: "gatehouse-\(UUID())").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// The permission bits of a file below the folder.
    func mode(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(self.path)/\(name)")
        return attributes[.posixPermissions] as? Int
    }
}
