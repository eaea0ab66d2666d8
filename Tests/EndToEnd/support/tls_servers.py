# SPDX-License-Identifier: Apache-2.0
"""Servers that speak TLS on 127.0.0.1: they count handshakes, keep what they receive and change certificates."""

import os
import shlex
import signal
import socket
import ssl
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

from .processes import Process, eventually, free_port, nginx
from .provider import Handler, ProviderServer
from .raw import Closing, request, tls_context

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class Connection:
    """One connection as its server saw it.

    `completed`, `resumed` and `version` are about the handshake; `error` is what ended it before its time; `received`
    holds what came within TLS, read by read; `ended` is set when the server has closed it.
    """
    def __init__(self):
        self.completed = self.resumed = False
        self.version = self.error = self.socket = None
        self.received = []
        self.ended = threading.Event()

    @property
    def bytes(self):
        """All that the client has sent within TLS."""
        return b"".join(self.received)

    def __repr__(self):
        return f"<{self.version} completed={self.completed} resumed={self.resumed} {self.error} {self.bytes[:200]!r}>"


class RecordedSocket(ssl.SSLSocket):
    """A socket that keeps what it has read in its `connection`."""
    connection = None

    def read(self, len=1024, buffer=None):
        """What every way of receiving comes down to."""
        found = super().read(len, buffer)
        data = found if buffer is None else bytes(buffer[:found])
        if data and self.connection:
            self.connection.received.append(data)
        return found


def part(sock, politely):
    """Closes a socket, if `politely` with TLS close_notify."""
    try:
        if politely:
            sock.settimeout(1)
            sock.unwrap()
    except (OSError, ValueError):
        pass
    finally:
        sock.close()


class TLSServer(Closing):
    """What an HTTP server on threads needs to speak TLS; goes before it in a list of base classes.

    `version` is "1.2" or "1.3" and allows no other; session tickets are always on.
    """
    def __init__(self, cert, key, version=None):
        self.connections, self.version = [], version
        self.context = self._offer(cert, key)

    def _offer(self, cert, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sslsocket_class = RecordedSocket
        context.set_alpn_protocols(["http/1.1"])
        if self.version:
            context.minimum_version = context.maximum_version = VERSIONS[self.version]
        context.load_cert_chain(cert, key)
        return context

    def use(self, cert, key, keep_sessions=False):
        """Other certificates for new connections; open ones stay. With `keep_sessions` older tickets still resume."""
        if keep_sessions:
            self.context.load_cert_chain(cert, key)
        else:
            self.context = self._offer(cert, key)

    def demand(self, ca_file):
        """New connections have to show a certificate that this authority has signed."""
        self.context.load_verify_locations(ca_file)
        self.context.verify_mode = ssl.CERT_REQUIRED

    def finish_request(self, sock, client_address):
        """Shakes hands and serves, in the connection's own thread."""
        connection = Connection()
        connection.socket = sock
        self.connections.append(connection)
        try:
            sock.settimeout(20)
            connection.socket = sock = self.context.wrap_socket(sock, True, do_handshake_on_connect=False)
            sock.connection = connection
            sock.do_handshake()
            connection.version, connection.resumed = sock.version(), sock.session_reused
            connection.completed = True
            sock.settimeout(None)
            super().finish_request(sock, client_address)
        except Exception as error:
            connection.error = repr(error)
        finally:
            part(sock, connection.completed)
            connection.ended.set()

    @property
    def handshakes(self):
        """The connections whose handshake was completed."""
        return [connection for connection in self.connections if connection.completed]

    @property
    def application_bytes(self):
        """All that clients have sent within TLS."""
        return b"".join(connection.bytes for connection in self.connections)

    def ended(self, count):
        """Waits until there were at least this many connections and none is open any more; returns all."""
        def over():
            found = list(self.connections)
            return len(found) >= count and all(connection.ended.is_set() for connection in found) and found

        return eventually(over, f"{count} connections have ended")

    def hang_up(self):
        """Closes all open connections without close_notify."""
        for connection in list(self.connections):
            try:
                socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        """Stops accepting, and closes open connections."""
        self.shutdown()
        self.server_close()
        self.hang_up()


class ResponseHandler(Handler):
    """Calls the server's response function."""
    def response(self, body):
        self.reply(*self.server.response(self.command, self.path, dict(self.headers), body))


class RecordingServer(TLSServer, ThreadingHTTPServer):
    """Responds with what `response(method, path, headers, body)` returns: (status, headers, bytes)."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, cert, key, response=lambda *request: (200, {}, b""), version=None, host="localhost", port=None):
        TLSServer.__init__(self, cert, key, version)
        self.response = response
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", port or free_port()), ResponseHandler)
        self.port = self.server_address[1]
        self.origin = f"https://{host}:{self.port}"
        threading.Thread(target=self.serve_forever, args=(0.05, ), daemon=True).start()


class SecureProviderServer(TLSServer, ProviderServer):
    """A provider server whose issuers begin with `https://localhost`."""
    def __init__(self, cert, key, version=None, host="localhost"):
        TLSServer.__init__(self, cert, key, version)
        ProviderServer.__init__(self)
        self.port = self.server_address[1]
        self.origin = f"https://{host}:{self.port}"


class NginxFront:
    """nginx that speaks TLS in front of a provider server, whose new realms then have its origin.

    `pairs` are the paths of certificates and keys: one pair, or one of RSA and one of ECDSA.
    """
    def __init__(self, folder, name, server, *pairs, options="", host="localhost", port=None):
        self.port, self.pairs = port or free_port(), pairs
        self.origin = server.origin = f"https://{host}:{self.port}"
        self.errors = Path(folder) / f"{name}.err"
        files = "".join(f"ssl_certificate {cert}; ssl_certificate_key {key};\n" for cert, key in pairs)
        self.process = nginx(
            folder, name, f"server {{ listen 127.0.0.1:{self.port} ssl;\n{files}{options}\n"
            f"location = /worker {{ return 200 $pid; }}\n"
            f"location / {{ proxy_pass http://127.0.0.1:{server.server_address[1]}; proxy_set_header Host $http_host;\n"
            "proxy_http_version 1.1; proxy_set_header Connection ''; } }"
        )
        self.process.wait_listening(self.port)

    def worker(self):
        """The process that serves now."""
        return int(request(self.port, "/worker", tls=tls_context()).text)

    def reload(self):
        """Makes nginx read its certificates again; returns when it no longer presents the old ones."""
        old = self.worker()
        os.kill(self.process.pid, signal.SIGHUP)
        wanted = [ssl.PEM_cert_to_DER_cert(first(Path(cert).read_text())) for cert, _ in self.pairs]
        try:
            eventually(lambda: not Path(f"/proc/{old}").exists(), "the old worker has ended")
            eventually(lambda: shown(self.port) in wanted, "nginx shows the new certificate")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.errors.read_text()[-2000:]}") from None

    def stop(self):
        """Ends nginx."""
        self.process.stop()


class OpenSSLServer:
    """`openssl s_server`, which serves one connection after the other and keeps what clients send.

    It sends the leaf of `cert` and what is in the file `chain`; `options` are more words for its command line.
    """
    def __init__(self, folder, name, cert, key, *options, chain=None, port=None):
        self.port = port or free_port()
        pipe = Path(folder) / f"{name}.in"
        os.mkfifo(pipe)
        command = ["openssl", "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", cert, "-key", key, "-quiet"]
        command += [*(["-cert_chain", chain] if chain else []), *options]
        # It would end with its input, and its error output does not belong to what it has received.
        errors = Path(folder) / f"{name}.err"
        words = f"exec {shlex.join(map(str, command))} 0<> {shlex.quote(str(pipe))} 2> {shlex.quote(str(errors))}"
        self.process = Process(["sh", "-c", words], folder, name)
        self.process.wait_listening(self.port)
        self._pipe = open(pipe, "wb", buffering=0)

    @property
    def application_bytes(self):
        """All that clients have sent within TLS."""
        return self.process.log_path.read_bytes()

    def send(self, data):
        """Sends bytes to the client that is connected now."""
        self._pipe.write(data)

    def stop(self):
        """Ends the server."""
        self._pipe.close()
        self.process.stop()


def first(pem):
    """The first certificate of a PEM text."""
    end = "-----END CERTIFICATE-----"
    return pem.split(end)[0] + end


def shown(port, host="localhost", **bounds):
    """The DER of the leaf that a server shows, whether it is any good or not."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        with tls_context(**bounds).wrap_socket(sock, server_hostname=host) as tls:
            return tls.getpeercert(True)
