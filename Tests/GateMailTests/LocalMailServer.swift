// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateMail
import GateTestSupport
import Testing

/// `Tests/mail_server.py` on loopback, in a process of its own.
final class LocalMailServer: Sendable {
    /// The port that it listens on.
    let port: Int
    private let process: ChildProcess

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - certificate: The name of a certificate of ``TestCertificates``; nil for a server without TLS.
    /// - Throws: If it does not start.
    init(_ arguments: [String] = [], certificate: String? = "good") throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent()
        let places = [".venv", "venv"].map { root.appending(path: "\($0)/bin/python").path }
        let python = places.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "/usr/bin/python3"
        let folder = try TestCertificates.shared.get().path
        let tls = certificate.map { ["--cert", "\(folder)/\($0).pem", "--key", "\(folder)/\($0).key"] } ?? []
        let script = tests.appending(path: "EndToEnd/support/mail_server.py").path
        self.process = try ChildProcess(python, ["-W", "ignore", script] + tls + arguments, joinsErrors: false)
        let first = try JSON(parsing: LocalMailServer.line(of: self.process.output))
        self.port = try Int(#require(first["port"]?.integer))
    }

    /// Ends the server and returns all that it printed.
    func events() throws -> [JSON] {
        // Not SIGTERM, which a thread of the tests may block, and so its children.
        try self.process.input.close()
        let output = try self.process.output.readToEnd() ?? Data()
        return try output.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: Array($0)) }
    }

    private static func line(of output: FileHandle) throws -> [UInt8] {
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), let next = try output.read(upToCount: 1), !next.isEmpty { line += next }
        return line
    }
}

extension [JSON] {
    /// The events of a kind.
    func named(_ name: String) -> [JSON] { self.filter { $0["event"]?.string == name } }
}

/// Certificates by openssl: `good` for localhost, `elsewhere` for another host, both signed by `ca`; `other` signed none.
enum TestCertificates {
    static let shared = Result { try TestCertificates.make() }

    private static func make() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let script = """
            set -e
            cd "$1"
            key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            for name in ca other; do
                openssl req -x509 $key -days 2 -keyout $name.key -out $name.pem -subj /CN=$name \
                    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
            done
            for leaf in good:localhost elsewhere:elsewhere.test; do
                name=${leaf%:*}
                openssl req $key -keyout $name.key -out $name.csr -subj /CN=$name
                echo "subjectAltName=DNS:${leaf#*:}" > $name.ext
                openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext \
                    -out $name.pem
            done
            """
        let process = try ChildProcess("/bin/sh", ["-c", script, "sh", folder.path])
        let output = try process.output.readToEnd() ?? Data()
        try #require(process.exitStatus() == 0, "\(String(decoding: output, as: UTF8.self))")
        return folder
    }
}
