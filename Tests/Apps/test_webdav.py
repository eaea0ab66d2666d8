# SPDX-License-Identifier: Apache-2.0
"""WebDAV: WsgiDAV with curl, cadaver and the test suite litmus."""

import re
import shutil

import pytest

from harness.apps import run, webdav

#: cadaver and litmus send no cookies.
ENTRY = {"public": ["/open/"]}

#: What differs from run to run: times, tokens, entity tags, free space.
VARIES = (
    r"opaquelocktoken:[-\w]+|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\w{3}, \d\d \w{3} [^<]*GMT|\d+-\d+-\d+|Second-\d+"
    r"|quota-[-a-z]+>\d+"
)


@pytest.fixture(scope="module")
def app(started):
    return started(webdav)


def empty(app):
    """The share with nothing in it."""
    share = app.folder / "share"
    for path in share.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (share / "open").mkdir()


PROPERTIES = b'<?xml version="1.0"?><propfind xmlns="DAV:"><prop><displayname/><resourcetype/></prop></propfind>'
PATCH = b'<?xml version="1.0"?><propertyupdate xmlns="DAV:"><set><prop><n:note xmlns:n="x">hi</n:note></prop></set></propertyupdate>'
LOCK = b'<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>a</owner></lockinfo>'


def curl_session(app, folder):
    """All methods of RFC 4918 by curl: the status and body of each."""
    def client(url, fields):
        empty(app)
        # Locks outlive their files.
        seen, name = [], "through" if fields else "direct"

        def curl(method, path, *headers, data=None):
            path, headers = path.replace("NAME", name), [header.replace("NAME", name) for header in headers]
            command = [
                "curl", "-s", *(["-I"] if method == "HEAD" else ["-X", method]), "-o", folder / "body", "-w",
                "%{http_code}", f"{url}{path}"
            ]
            for header in (*headers, *(f"{key}: {value}" for key, value in fields.items())):
                command += ["-H", header]
            if data is not None:
                command += ["--data-binary", "@-"]
            (folder / "body").write_bytes(b"")
            status = run(*command, data=data).stdout.decode()
            body = (folder / "body").read_text()
            body = re.sub(VARIES, "X", "" if method == "HEAD" else body)
            seen.append((method, path, status, body))
            return status

        curl("OPTIONS", "/")
        curl("MKCOL", "/NAME/")
        curl("PUT", "/NAME/a%20b%25.txt", "Content-Type: text/plain", data=b"text")
        curl("PUT", "/NAME/large", data=b"0123456789" * 300_000)
        curl("PROPFIND", "/NAME/", "Depth: 1", "Content-Type: application/xml", data=PROPERTIES)
        curl("PROPFIND", "/NAME/", "Depth: 0")
        curl("PROPPATCH", "/NAME/a%20b%25.txt", "Content-Type: application/xml", data=PATCH)
        curl("COPY", "/NAME/a%20b%25.txt", f"Destination: {url}/NAME/copy.txt", "Overwrite: F")
        curl("MOVE", "/NAME/copy.txt", f"Destination: {url}/NAME/moved.txt")
        curl("MOVE", "/NAME/moved.txt", f"Destination: {url}/NAME/a%20b%25.txt", "Overwrite: F")
        curl("LOCK", "/NAME/moved.txt", "Timeout: Second-100", "Content-Type: application/xml", data=LOCK)
        curl("PUT", "/NAME/moved.txt", data=b"locked")
        curl("GET", "/NAME/moved.txt")
        curl("HEAD", "/NAME/large", "Range: bytes=0-3")
        curl("GET", "/NAME/large", "Range: bytes=5-9,20-24")
        curl("DELETE", "/NAME/")
        curl("DELETE", "/NAME/a%20b%25.txt")
        curl("PROPFIND", "/NAME/", "Depth: infinity")
        return [tuple(part.replace(url, "BASE").replace(name, "NAME") for part in one) for one in seen]

    return client


def test_y_04_curl_with_every_method_of_webdav(front, app, tmp_path):
    """The methods and `Destination` arrive; statuses and bodies are the app's."""
    seen = front.both(curl_session(app, tmp_path))
    assert [status for method, _, status, _ in seen if method in ("MKCOL", "COPY")] == ["201", "201"]


def cadaver_session(app, folder):
    """What a user of cadaver types."""
    def client(url, fields):
        empty(app)
        place = folder / ("through" if fields else "direct")
        place.mkdir()
        (place / "note.txt").write_text("a note\n")
        typed = "mkcol drawer\ncd drawer\nput note.txt\ncopy note.txt second.txt\nmove second.txt third.txt\nls\n" \
            "lock third.txt\ndiscover third.txt\nunlock third.txt\npropset note.txt colour blue\npropget note.txt colour\n" \
            "get note.txt back.txt\ndelete third.txt\nls\nrmcol /open/drawer\nquit\n"
        responses = run("cadaver", f"{url}/open/", cwd=place, data=typed.encode(), env={"HOME": str(place)})
        text = responses.stdout.decode() + responses.stderr.decode()
        text = re.sub(r"opaquelocktoken:[-\w]+|\w{3} +\d+ +\d\d:\d\d|Timeout: .*|Owner.*", "X", text)
        back = place / "back.txt"
        return {"text": text, "back": back.read_text() if back.exists() else None}

    return client


def test_y_04_cadaver(fronts, app, tmp_path):
    """cadaver lists, copies, moves, locks and deletes, over plain HTTP/1.1, the only protocol that it speaks."""
    front = fronts("webdav", app.port, ENTRY)
    seen = front.both(cadaver_session(app, tmp_path))
    assert seen["back"] == "a note\n" and "failed" not in seen["text"]


def litmus_session(app, folder):
    """Every test of litmus with its result."""
    def client(url, fields):
        empty(app)
        done = run("litmus", "-k", f"{url}/open/", cwd=folder, env={"TESTROOT": "/usr/libexec/litmus"}, check=False)
        lines = re.sub(r"[^\n]*\r", "", done.stdout.decode()).splitlines()
        return [line for line in lines if re.match(r" ?\d+\. ", line)]

    return client


def test_y_04_litmus(fronts, app, tmp_path):
    """The WebDAV test suite has the same results as at the app itself."""
    front = fronts("webdav", app.port, ENTRY)
    # A `#` in a request is rejected; the client of `expect100` goes away before it has a response.
    seen = front.both(litmus_session(app, tmp_path), ignore=["^DELETE .*#ment: ", "/expect100: "])
    assert len(seen) > 60
