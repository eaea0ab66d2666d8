# SPDX-License-Identifier: Apache-2.0
"""What apps and clients do with HTTP: streams, polls, ranges, conditions, compression, large uploads, odd framing."""

import gzip
import hashlib
import json
import re
import threading

import pytest

from harness.apps import run
from support.differences import RESPONSE, RESPONSE_ADDED
from support.upstream import Upstream

#: Trailer fields that no client needs may be dropped (RFC 9110 §6.5.1); only those of gRPC are passed on.
TRAILERS = {"x-sum"}
LARGE = bytes(range(256)) * 4096 * 10


def ok(body, *fields, status="200 OK"):
    """The bytes of a response with a length."""
    lines = [f"HTTP/1.1 {status}", "Date: Thu, 01 Jan 2026 00:00:00 GMT", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(*parts, fields=(), extension="", trailers=()):
    """The bytes of a chunked response."""
    head = "\r\n".join([
        "HTTP/1.1 200 OK", "Date: Thu, 01 Jan 2026 00:00:00 GMT", "Transfer-Encoding: chunked", *fields
    ])
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension.encode(), part) for part in parts)
    return head.encode() + b"\r\n\r\n" + body + f"0{extension}\r\n".encode() \
        + "".join(f"{line}\r\n" for line in trailers).encode() + b"\r\n"


class App(Upstream):
    """An app with a path for each thing; `polls` holds the long polls that wait."""
    def __init__(self):
        super().__init__()
        self.polls = threading.Event()
        etag = '"v1"'
        for path, data in {
            "/etag":
            ok(b"page", f"ETag: {etag}", "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT", "Vary: Accept, Cookie"),
            "/gzip":
            ok(gzip.compress(b"text" * 5000, mtime=0), "Content-Encoding: gzip", "Vary: Accept-Encoding"),
            "/trailers":
            chunked(b"a", b"b", fields=["Trailer: X-Sum", "Content-Type: text/plain"], trailers=["X-Sum: 2"]),
            "/chunks":
            chunked(*[b"x" * size for size in (1, 15, 16, 17, 4095, 70000)]),
            "/extension":
            chunked(b"one", b"two", extension=";ieof"),
            "/space":
            chunked(b"one", b"two", extension=" "),
            "/length-trailer":
            chunked(b"one", trailers=["Content-Length: 99"]),
            "/two-lengths":
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
            "/status-799":
            ok(b"odd", status="799 Odd"),
            "/no-reason":
            ok(b"ok", status="200"),
            "/latin":
            ok(b"ok", "X-Name: J\xf6rg", "Set-Cookie: a=b; Path=/latin; HttpOnly", "Set-Cookie: c=d%20e; SameSite=Lax"),
            "/close":
            b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: close\r\n\r\nuntil the end",
            "/old":
            b"HTTP/1.0 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\nHTTP/1.0",
            "/empty":
            ok(b""),
            "/no-content":
            b"HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
            "/reset":
            ok(b"", status="205 Reset Content"),
            "/many":
            ok(b"ok", *[f"X-Field-{number}: {number}" for number in range(80)]),
            "/links":
            ok(
                b"ok", "Link: </a>; rel=preload", "Link: </b>; rel=preload",
                'WWW-Authenticate: Basic realm="x", Digest realm="y"'
            ),
            "/large":
            ok(LARGE, "Accept-Ranges: bytes"),
        }.items():
            self.script(path, self.responds(data))
        self.script("/conditional", self.conditional)
        self.script("/range", self.range)
        self.script("/events", self.events)
        self.script("/poll", self.poll)
        self.script("/upload", self.upload)
        self.script("/refuses", self.refuses)

    @staticmethod
    def responds(data):
        until_close = b"\r\nContent-Length" not in data and b"chunked" not in data and b" 204 " not in data

        def act(connection, request):
            connection.body(request)
            connection.send(data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if request.method == "HEAD" else data)
            return not until_close

        return act

    def conditional(self, connection, request):
        matches = request.get("If-None-Match") == '"v1"' or request.get("If-Modified-Since")
        head = 'HTTP/1.1 304 Not Modified\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: "v1"\r\n\r\n'
        connection.send(head.encode() if matches else ok(b"whole", 'ETag: "v1"'))
        return True

    def range(self, connection, request):
        first, last = map(int, re.match(r"bytes=(\d+)-(\d+)", request.get("Range")).groups())
        part = LARGE[first:last + 1]
        connection.send(ok(part, f"Content-Range: bytes {first}-{last}/{len(LARGE)}", status="206 Partial Content"))
        return True

    def events(self, connection, request):
        connection.send(
            b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/event-stream\r\n"
            b"Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for number in range(5):
            event = b"id: %d\ndata: %d\n\n" % (number, number)
            connection.send(b"%x\r\n%s\r\n" % (len(event), event))
        connection.send(b"0\r\n\r\n")
        return True

    def poll(self, connection, request):
        self.polls.wait(20)
        connection.send(ok(b"news"))
        return True

    def upload(self, connection, request):
        if request.get("expect"):
            connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.body(request)
        kind, seen = request.get("content-type", ""), {"length": request.length}
        if not kind.startswith("multipart/"):
            seen |= {"type": kind, "digest": hashlib.sha256(request.body).hexdigest()}
        connection.send(ok(json.dumps(seen).encode()))
        return True

    def refuses(self, connection, request):
        connection.send(ok(b"no", "Connection: close", status="413 Too Large"))
        connection.body(request, keep=False)
        return False


@pytest.fixture(scope="module")
def app():
    made = App()
    yield made
    made.close()


class Curl:
    """curl with the fields of a session; gives path, status, fields and body of each response."""
    def __init__(self, url, fields, folder):
        self.url, self.folder = url, folder
        self.fields = [part for name, value in fields.items() for part in ("-H", f"{name}: {value}")]

    def __call__(self, path, *options, data=None):
        body = self.folder / "body"
        body.write_bytes(b"")
        head = self.folder / "head"
        done = run(
            "curl",
            "-sS",
            "-m",
            "25",
            "-o",
            body,
            "-D",
            head,
            "-w",
            "%{http_code}",
            *self.fields,
            *options,
            f"{self.url}{path}",
            data=data,
            check=False,
        )
        assert done.returncode == 0, f"{path} {options}: {done.stderr.decode()}"
        data = b"" if "-I" in options else body.read_bytes()
        shown = data if len(data) < 500 else hashlib.sha256(data).hexdigest()
        return path, done.stdout.decode(), self.kept(head.read_bytes().decode("latin-1")), shown

    @staticmethod
    def kept(head):
        """The fields of the last response that the gateway has to pass on; trailers are among them."""
        last = head[head.rindex("HTTP/"):].splitlines()[1:]
        pairs = [tuple(part.strip() for part in line.split(":", 1)) for line in last if line.strip()]
        unlisted = {*RESPONSE, *RESPONSE_ADDED}
        return sorted((name.lower(), value) for name, value in pairs if name.lower() not in unlisted | TRAILERS)


def asks(folder, *requests):
    """A client for `Front.both`: these requests by curl, each a path and options."""
    def client(url, fields):
        curl = Curl(url, fields, folder)
        return [curl(*one) for one in requests]

    return client


PLAIN = [
    "/etag", "/gzip", "/trailers", "/chunks", "/latin", "/close", "/old", "/empty", "/no-content", "/many", "/links",
    "/large", "/no-reason", "/reset"
]


def test_responses_of_every_shape(front, tmp_path):
    """Lengths, chunks, trailers, the end of the connection, HTTP/1.0, fields that repeat, bytes beyond ASCII."""
    front.both(asks(tmp_path, *[[path] for path in PLAIN], *[[path, "-I"] for path in PLAIN]))


@pytest.mark.parametrize("path", ["/extension", "/space", "/length-trailer", "/two-lengths", "/status-799"])
def test_y_09_framing_that_is_unusual_but_clear(front, path, tmp_path):
    """Chunk extensions, unknown trailers, equal lengths and statuses from 600 on, as curl takes them from the app."""
    front.both(asks(tmp_path, [path]))


def test_conditions_and_ranges(front, tmp_path):
    """304 and 206 with what the client asked."""
    front.both(
        asks(
            tmp_path,
            ["/conditional"],
            ["/conditional", "-H", 'If-None-Match: "v1"'],
            ["/conditional", "-H", 'If-None-Match: "other"'],
            ["/range", "-r", "0-0"],
            ["/range", "-r", "5000000-9000000"],
            ["/range", "-r", "100-199", "-H", 'If-Range: "v1"'],
            ["/gzip", "--compressed"],
        )
    )


def test_events_come_whole(front, tmp_path):
    """Server-sent events."""
    front.both(asks(tmp_path, ["/events", "-N", "-H", "Accept: text/event-stream"]))


def test_a_long_poll(front, app, tmp_path):
    """A response that comes when something happens."""
    def client(url, fields):
        app.polls.clear()
        before = len(app.seen("/poll"))

        def happen():
            app.wait_for("/poll", before + 1)
            app.polls.set()

        threading.Thread(target=happen, daemon=True).start()
        return asks(tmp_path, ["/poll"])(url, fields)

    front.both(client)


def uploads(path):
    size = {"small": 10, "medium": 70_000, "large": 12_000_000}
    for name, count in size.items():
        (path / name).write_bytes(bytes(range(250)) * (count // 250) or b"0123456789")
    every = [["/upload", "-H", "Expect: 100-continue", "--data-binary", f"@{path}/{name}"] for name in size]
    every += [["/upload", "-H", "Transfer-Encoding: chunked", "--data-binary", f"@{path}/{name}"] for name in size]
    every += [["/upload", "-T", f"{path}/{name}"] for name in size]
    every += [["/upload", "-F", f"file=@{path}/medium;type=text/x-a", "-F", "name=\"ö\""], ["/upload", "-X", "POST"],
              ["/upload", "-X", "DELETE", "--data", "x"], ["/upload", "-X", "PATCH", "--json", '{"a":1}']]
    return every


def test_uploads(front, tmp_path):
    """Lengths, chunks, `Expect: 100-continue`, forms, 12 MB; curl sends lengths or streams over HTTP/2."""
    front.both(asks(tmp_path, *uploads(tmp_path)))


def test_an_upload_that_the_app_rejects(front, tmp_path):
    """The app responds before it reads 30 MB; the client gets that response."""
    (tmp_path / "large").write_bytes(LARGE * 3)
    front.both(asks(tmp_path, ["/refuses", "-H", "Expect:", "--data-binary", f"@{tmp_path}/large"]))


SEARCH = '{"query":{"match":{"title":"a|b"}}}'


@pytest.mark.parametrize(
    "options",
    [
        ["/search/_search?q=a", "-X", "GET", "--json", SEARCH],
        ["/search", "-X", "GET", "-H", "Transfer-Encoding: chunked", "-d", "x"],
        ["/search", "-X", "GET", "-H", "Transfer-Encoding: chunked", "--data-binary", "@/dev/null"],
        ["/search", "-X", "OPTIONS", "--json", "{}"],
        ["/search", "-X", "QUERY", "--json", SEARCH],
    ],
    ids=["get", "get-chunked", "get-empty-chunked", "options", "query"],
)
def test_y_05_bodies_of_methods_that_seldom_have_one(front, app, options, tmp_path):
    """Elasticsearch's `GET _search`, an empty chunked body, OPTIONS with content, QUERY."""
    def client(url, fields):
        before = len(app.requests)
        status = asks(tmp_path, options)(url, fields)[0][1]
        return status, [(one.method, one.target, one.body) for one in app.requests[before:]]

    front.both(client)


@pytest.mark.parametrize("method", ["LIST", "PROPFIND", "REPORT", "MKCALENDAR", "PURGE", "VERSION-CONTROL", "M-SEARCH"])
def test_y_04_methods_that_are_any_token(front, app, method, tmp_path):
    """Vault's LIST, WebDAV, caches, UPnP."""
    def client(url, fields):
        before = len(app.requests)
        status = asks(tmp_path, ["/v1/secret/metadata/", "-X", method])(url, fields)[0][1]
        return status, [(one.method, one.target) for one in app.requests[before:]]

    assert front.both(client)[1][0][0] == method


def test_y_04_a_method_that_differs_by_its_case_is_rejected(front, app, tmp_path):
    """Methods are case-sensitive (RFC 9110 §9.1), but some apps read `get` as GET."""
    before = len(app.requests)
    assert asks(tmp_path, ["/v1/secret/metadata/", "-X", "get"])(front.url, front.fields)[0][1] == "501"
    assert len(app.requests) == before


def test_y_06_a_field_name_with_an_underscore(front, app, tmp_path):
    """The request passes and the field does not."""
    front.both(asks(tmp_path, ["/empty", "-H", "X_Trace_Id: 1", "-H", "X-Trace: 3"]))
    assert app.requests[-1].get("x-trace") == "3" and "x_trace_id" not in app.requests[-1].names


#: What apps are asked, as their clients spell it.
SPELLINGS = [
    "/d/abc/board?var-host=a|b&from=now-6h&to=now",
    '/explore?left={"queries":[{"expr":"up{job=\\"a\\"}"}],"range":{"from":"now-1h"}}',
    "/search?q=`a`^b\\c",
    "/api/v4/projects/group%2Fproject/repository/files/src%2Fmain.c/raw?ref=main",
    "/@scope%2fname",
    "/@scope%2Fname/-/name-1.0.0.tgz",
    "/job/a/job/b%2Fc/1/",
    "/blue/rest/organizations/jenkins/pipelines/a%2Fb/",
    "/user/DOMAIN%5Cann/",
    "//api/v1/info",
    "/a//b///c",
    "/v2/_catalog?n=100&last=a%2Fb",
    "/api/v1/query?query=up%7Bjob%3D%22a%22%7D",
    "/p?match[]=up&x=a'b",
    "/w/index.php?title=Special:Search&search=a+b",
    "/~user/(x)/a;v=1/$b,c=d!*'",
    "/%E2%82%AC/%7Euser",
    "/caf\u00e9/na\u00efve?q=\u20ac",
    "/a:b@c",
    "/path?",
    "/path?a=%zz&b=100%",
    "/path??a=?b",
]


@pytest.mark.parametrize("target", SPELLINGS, ids=range(len(SPELLINGS)))
def test_y_01_y_02_v_02_v_05_urls_as_clients_spell_them(front, app, target, tmp_path):
    """The app gets the same URL, by the comparison of RFC 3986 §6.2.2, and no byte that a URL may not have."""
    def client(url, fields):
        return Curl(url, fields, tmp_path)(target, "-g", "--path-as-is")[1]

    assert front.both(client) == "200"
    arrived = app.requests[-1].target
    assert re.fullmatch(r"[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]+", arrived) and not arrived.startswith("//"), arrived
