// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Finds the route of a request: by host, then by the longest path prefix of whole segments.
///
/// A host with routes of its own has these only; the routes of a wildcard are for all other hosts that it includes.
///
/// A look-up is one pass over the path, regardless of the number of routes: at the end of each segment, the hash of the
/// path so far is compared with the prefixes of the host.
package struct RouteTable: Sendable {
    private struct Host: Sendable {
        private(set) var maxLength = 0
        private(set) var byHash: [UInt64: [Int]] = [:]

        mutating func add(_ index: Int, hash: UInt64, length: Int) {
            self.byHash[hash, default: []].append(index)
            self.maxLength = max(self.maxLength, length)
        }
    }

    /// The prefixes in the given order; a look-up returns an index into it.
    private let prefixes: [[UInt8]]
    private var hosts: [String: Host] = [:]
    /// The routes of wildcards, by their domains.
    private var domains: [String: Host] = [:]

    /// A table of (hosts, path prefix) pairs; a look-up returns a position in `entries`.
    ///
    /// A prefix with a `/` at its end equals the same prefix without it; of equal entries the first wins.
    package init(_ entries: [(hosts: [HostPattern], path: String)]) {
        self.prefixes = entries.map { entry in
            entry.path.hasSuffix("/") ? Array(entry.path.utf8.dropLast()) : Array(entry.path.utf8)
        }
        for (index, entry) in entries.enumerated() {
            let prefix = self.prefixes[index]
            var hash = PathHash()
            for byte in prefix {
                hash.add(byte)
            }
            for pattern in entry.hosts {
                switch pattern {
                case .exact(let host):
                    self.hosts[host, default: Host()].add(index, hash: hash.value, length: prefix.count)
                case .wildcard(let domain):
                    self.domains[domain, default: Host()].add(index, hash: hash.value, length: prefix.count)
                }
            }
        }
    }

    /// The position of the entry with the host and the longest matching prefix, or nil.
    ///
    /// - Parameters:
    ///   - host: The host of the request in normal form, without port.
    ///   - path: The canonical path, without query.
    /// - Returns: The position in the entries of the table.
    package func entry(host: String, path: Span<UInt8>) -> Int? {
        guard let found = self.hosts[host] ?? self.wildcard(including: host) else { return nil }
        return self.entry(in: found, path: path)
    }

    /// The positions of the entries that requests for a host can lead to, whatever their paths.
    package func entries(on host: String) -> Set<Int> {
        guard let found = self.hosts[host] ?? self.wildcard(including: host) else { return [] }
        return Set(found.byHash.values.joined())
    }

    private func wildcard(including host: String) -> Host? {
        guard !self.domains.isEmpty, let domain = HostPattern.domain(of: host) else { return nil }
        return self.domains[domain]
    }

    private func entry(in host: Host, path: Span<UInt8>) -> Int? {
        var found: Int?
        var hash = PathHash()
        for length in 0...min(path.count, host.maxLength) {
            if length == path.count || path[length] == UInt8(ascii: "/"), let candidates = host.byHash[hash.value] {
                found = candidates.first { self.isPrefix($0, ofLength: length, of: path) } ?? found
            }
            guard length < path.count else { break }
            hash.add(path[length])
        }
        return found
    }

    private func isPrefix(_ index: Int, ofLength length: Int, of path: Span<UInt8>) -> Bool {
        let prefix = self.prefixes[index]
        return prefix.count == length && prefix.indices.allSatisfy { prefix[$0] == path[$0] }
    }
}

/// FNV-1a over 64 bits, byte by byte; equal hashes are always compared in full.
private struct PathHash {
    var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) {
        self.value = (self.value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
