// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateDiagnostics

/// A file of users for comparisons: a profile as JSON on each line.
enum SavedUsers {
    private static let maxLine = 1 << 20

    /// Reads a file line by line, so that its size does not matter.
    ///
    /// - Parameters:
    ///   - path: The file; `-` is standard input.
    ///   - body: Called with each profile.
    /// - Throws: `policy.question` for a line that does not hold a profile, or what `body` throws.
    static func read(_ path: String, body: (Profile) throws(Failure) -> Void) throws(Failure) {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let handle else { throw Failure(.policyQuestion, "'\(path)' cannot be read") }
        var rest: [UInt8] = []
        var number = 0
        var isComplete = false
        while !isComplete {
            let part: Data?
            do { part = try handle.read(upToCount: 1 << 20) } catch {
                throw Failure(.policyQuestion, "'\(path)' cannot be read: \(error)")
            }
            isComplete = part?.isEmpty ?? true
            rest += part ?? Data()
            var start = 0
            while let end = rest[start...].firstIndex(of: 0x0A) ?? (isComplete && start < rest.count ? rest.count : nil)
            {
                number += 1
                if let profile = try self.profile(rest[start..<end], "\(path):\(number)") { try body(profile) }
                start = min(end + 1, rest.count)
            }
            rest.removeFirst(start)
            guard rest.count <= SavedUsers.maxLine else {
                throw Failure(.policyQuestion, "\(path):\(number + 1) is longer than 1 MiB; write one user a line")
            }
        }
    }

    private static func profile(_ line: ArraySlice<UInt8>, _ place: String) throws(Failure) -> Profile? {
        guard line.contains(where: { $0 > 0x20 }) else { return nil }
        guard let json = try? JSON(parsing: line, depth: 8) else {
            throw Failure(.policyQuestion, "\(place) is not JSON; write one user a line, as --export does")
        }
        do throws(Failure) {
            return try Profile(described: json)
        } catch {
            throw Failure(.policyQuestion, "\(place): \(error.detail)")
        }
    }
}
