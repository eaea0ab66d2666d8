// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateTestSupport
import Synchronization

@testable import GateProviderHTTP

/// A real server on loopback in a process of its own, which ends with the test process.
final class LocalProvider: Sendable {
    /// One for all tests, since making certificates takes a while.
    static let shared = Result { try LocalProvider() }

    let folder: String
    let ports: [String: Int]
    private let process: ChildProcess

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "provider-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try localServer.write(toFile: folder + "/server.py", atomically: true, encoding: .utf8)
        let arguments = ["python3", "-W", "ignore", folder + "/server.py", folder]
        let process = try ChildProcess("/usr/bin/env", arguments, joinsErrors: false)
        let output = process.output
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), let next = try output.read(upToCount: 1) {
            line += next
        }
        let ports = try JSON(parsing: line).object ?? [:]
        self.folder = folder
        self.ports = ports.compactMapValues { $0.integer.map(Int.init) }
        self.process = process
    }

    /// An address on one of its ports.
    ///
    /// `plain`, `raw` and `closed` are without TLS. `tls` is good; `deep` has a chain of 12, and no client should
    /// trust `wrong_name`, `expired`, `self_signed`, `weak` and `old_tls`.
    func address(_ port: String, _ target: String) -> WebURL? {
        let scheme = port == "plain" || port == "raw" ? "http" : "https"
        return self.ports[port].flatMap { WebURL("\(scheme)://localhost:\($0)\(target)") }
    }

    /// The certificate authority that signed its certificates.
    var ca: String { self.folder + "/ca.pem" }

    /// A certificate authority that signed none of them.
    var otherCA: String { self.folder + "/other.pem" }

    /// What openssl computes for the good certificate: SHA-256 in base64 over its public key and over itself.
    func openssl() throws -> (pin: String, certificatePin: String) {
        (try self.pin("good"), try self.text("good.certificate"))
    }

    /// The pin of the public key of a certificate: `good`, `ca`, `other`, `bad`.
    func pin(_ name: String) throws -> String { try self.text(name + ".pin") }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: self.folder + "/" + name, encoding: .utf8)
    }

    /// How many connections were opened to the TLS port, and what requests did, as the server counted.
    func count(_ name: String) throws -> Int {
        let text = try String(contentsOfFile: self.folder + "/count-" + name, encoding: .utf8)
        return text.count
    }
}

extension ProviderTransports {
    /// A board whose providers trust these files of authorities.
    static func trusting(_ files: [String: String?]) throws -> ProviderTransports {
        let board = ProviderTransports()
        for (name, file) in files {
            let trust = ProviderTrust(authorities: try file.map { Array(try Data(contentsOf: URL(filePath: $0))) })
            board.connect(name, over: try CurlTransport(to: name, trust: trust))
        }
        return board
    }
}

/// The server's program: certificates by openssl, responses by path.
private let localServer = #"""
    import base64, hashlib, http.server, json, os, shutil, socket, ssl, subprocess, sys, threading, time
    folder = sys.argv[1]
    os.chdir(folder)

    def run(*words, **more):
        return subprocess.run(words, check=True, capture_output=True, **more).stdout

    def authority(name):
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name,
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")

    EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")

    def signed(name, subject, extensions, days="2", by="ca", key=EC):
        run("openssl", "req", *key, "-nodes", "-utf8", "-keyout", name + ".key", "-out", name + ".csr", "-subj", subject)
        open(name + ".ext", "w").write(extensions)
        run("openssl", "x509", "-req", "-in", name + ".csr", "-CA", by + ".pem", "-CAkey", by + ".key",
            "-CAcreateserial", "-days", days, "-extfile", name + ".ext", "-out", name + ".pem")

    def leaf(name, host, days="2", **more):
        signed(name, "/O=Acme\x9b, Inc/CN=" + host, "subjectAltName=DNS:" + host, days, **more)

    authority("ca"); authority("other")
    open("ca.pem.txt", "w").write("no certificate")
    leaf("good", "localhost"); leaf("bad", "elsewhere.test"); leaf("old", "localhost", "-1")
    leaf("weak", "localhost", key=("-newkey", "rsa:1024"))
    above = "ca"
    for index in range(10):
        signed("i%d" % index, "/CN=i%d" % index, "basicConstraints=critical,CA:TRUE", by=above)
        above = "i%d" % index
    leaf("deep", "localhost", by=above)
    with open("deep.pem", "a") as bundle:
        bundle.writelines(open("i%d.pem" % index).read() for index in reversed(range(10)))
    run("openssl", "x509", "-in", "good.pem", "-outform", "DER", "-out", "good.der")
    def pin(der):
        return base64.b64encode(hashlib.sha256(der).digest()).decode()
    for name in ("good", "ca", "other", "bad"):
        key = run("openssl", "x509", "-in", name + ".pem", "-noout", "-pubkey")
        open(name + ".pin", "w").write(pin(run("openssl", "pkey", "-pubin", "-outform", "DER", input=key)))
    open("good.certificate", "w").write(pin(open("good.der", "rb").read()))

    def tally(name):
        open("count-" + name, "a").write("x")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *words):
            pass
        def setup(self):
            super().setup()
            tally("connections")
        def respond(self, status, body=b"", fields=()):
            self.send_response(status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_POST(self):
            self.do_GET()
        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
        def do_GET(self):
            length = int(self.headers.get("Content-Length", "0"))
            sent = self.rfile.read(length).decode()
            path = self.path.split("?")[0]
            try:
                self.route(path, sent)
            except OSError:
                tally("dropped")
        def route(self, path, sent):
            if path == "/echo":
                seen = {"method": self.command, "target": self.path, "body": sent,
                        "fields": [[k, v] for k, v in self.headers.items()]}
                self.respond(200, json.dumps(seen).encode(), [("Content-Type", "application/json")])
            elif path == "/redirect":
                self.respond(302, b"", [("Location", "/landed")])
            elif path == "/landed":
                tally("landed")
                self.respond(200, b"landed")
            elif path == "/unauthorized":
                self.respond(401, b"<html>no</html>", [("Content-Type", "text/html"), ("WWW-Authenticate", "Basic")])
            elif path == "/cookie":
                self.respond(200, b"", [("Set-Cookie", "a=b")])
            elif path == "/big":
                self.respond(200, b"x" * 100000)
            elif path == "/exact":
                self.respond(200, b"x" * 1000)
            elif path == "/gzip":
                self.respond(200, b"\x1f\x8b not inflated", [("Content-Encoding", "gzip")])
            elif path == "/endless":
                self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
                while True:
                    self.wfile.write(b"1000\r\n" + b"y" * 4096 + b"\r\n")
            elif path == "/drip":
                self.send_response(200); self.send_header("Content-Length", "1000"); self.end_headers()
                while True:
                    self.wfile.write(b"z"); time.sleep(0.05)
            elif path == "/flood":
                self.send_response(200)
                for index in range(3000):
                    self.send_header("X-Flood-%d" % index, "v" * 40)
                self.send_header("Content-Length", "0"); self.end_headers()
            elif path == "/half":
                self.send_response(200); self.send_header("Content-Length", "1000"); self.end_headers()
                self.wfile.write(b"half"); self.wfile.flush(); self.close_connection = True
            elif path == "/lost":
                tally("lost" + self.path.partition("?")[2])
                self.close_connection = True
            elif path == "/silent":
                tally("silent")
                self.connection.settimeout(30)
                if self.connection.recv(1) == b"":
                    tally("gone")
                self.close_connection = True
            else:
                self.respond(404)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128
        def __init__(self, certificate=None, version=None, careless=False):
            super().__init__(("127.0.0.1", 0), Handler)
            self.context = None
            if certificate:
                self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                if version or careless:
                    self.context.set_ciphers("DEFAULT:@SECLEVEL=0")
                self.context.load_cert_chain(certificate + ".pem", certificate + ".key")
                if version:
                    self.context.minimum_version = version
                    self.context.maximum_version = version
        def finish_request(self, request, address):
            if self.context:
                try:
                    request = self.context.wrap_socket(request, server_side=True)
                except OSError:
                    return
            super().finish_request(request, address)
        def handle_error(self, request, address):
            pass

    def garbage(listener):
        while True:
            connection, _ = listener.accept()
            connection.recv(4096); connection.sendall(b"SSH-2.0-not http\r\n"); connection.close()

    listeners = {"plain": Server(), "tls": Server("good"), "wrong_name": Server("bad"), "expired": Server("old"),
                 "old_tls": Server("good", ssl.TLSVersion.TLSv1_1), "self_signed": Server("other"),
                 "weak": Server("weak", careless=True), "deep": Server("deep")}
    for server in listeners.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    raw = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=garbage, args=(raw,), daemon=True).start()
    closed = socket.create_server(("127.0.0.1", 0))
    ports = {name: server.server_address[1] for name, server in listeners.items()}
    ports["raw"] = raw.getsockname()[1]; ports["closed"] = closed.getsockname()[1]
    closed.close()
    for name in ("landed", "connections", "silent", "gone", "dropped"):
        open("count-" + name, "w").close()
    print(json.dumps(ports), flush=True)
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
    """#
