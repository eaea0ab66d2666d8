# SPDX-License-Identifier: Apache-2.0
"""Keeps small samples of what clients send and apps respond: `pytest Tests/Apps --record=Tests/Fixtures/traffic`."""

import json
import re
from pathlib import Path

from support.differences import cookies

MAX_EXCHANGES = 24
#: The apps of these fronts are there to be asked in every way.
MORE_EXCHANGES = {"http": 100, "chromium": 100}
MAX_BYTES = 700
#: Fields whose values are secrets or differ from run to run.
DROPPED = {
    "set-cookie", "server", "x-powered-by", "etag", "last-modified", "date", "authorization", "age", "via", "cookie"
}
#: The length is written for the body that is kept.
LENGTHS = {"content-length", "transfer-encoding"}
#: Kinds of bodies of responses that are kept; others are replaced by as many `x`.
KEPT = ("application/json", "application/xml", "text/xml", "text/event-stream", "text/calendar")


class Recording:
    """The exchanges of each app, by the name of its front."""
    def __init__(self, folder):
        self.folder, self.samples = Path(folder) if folder else None, {}

    def add(self, name, origin, exchanges):
        if not self.folder:
            return
        found = self.samples.setdefault(name, {})
        for one in exchanges:
            if one.response is None or one.response.status == 101 or not one.response.is_complete:
                continue
            if len(one.request.body) <= MAX_BYTES:
                found.setdefault(shape(one), sample(one, origin.partition("://")[2]))

    def write(self):
        for name, found in self.samples.items() if self.folder else ():
            if not found:
                continue
            self.folder.mkdir(parents=True, exist_ok=True)
            chosen = [found[key] for key in list(found)[:MORE_EXCHANGES.get(name, MAX_EXCHANGES)]]
            lines = ",\n".join(json.dumps(one, ensure_ascii=True) for one in chosen)
            (self.folder / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def shape(one):
    """What makes two exchanges so alike that one is enough."""
    path, _, query = one.request.target.partition("?")
    kind = re.search(r"\.(js|css|png|svg|ico|woff2?|ttf|map)$", path)
    path = kind[1] if kind else re.sub(r"[-0-9a-f]{8,}|\d+", "N", path)
    marks = frozenset(re.findall(r"[^\w/.=&-]|%\w\w", query))
    return one.request.method, path, marks, one.request.framing, bool(one.request.body), one.response.status


def sample(one, authority):
    """An exchange as JSON, with `http://app.localhost` as its origin."""
    def clean(text):
        text = text.replace(authority, "app.localhost").replace("127.0.0.1", "app.localhost")
        return re.sub(r"/tmp/(?:pytest|gatehouse)[-\w./]*", "/tmp/x", text)

    def fields(message):
        left_out = DROPPED | LENGTHS
        found = [(name, clean(value)) for name, value in message.fields if name.lower() not in left_out]
        return found + [("Cookie", pair) for pair in ("; ".join(cookies(message.all("cookie"))), ) if pair]

    body = clean(one.response.body.decode("latin-1"))
    if len(body) > MAX_BYTES or not one.response.get("content-type", "").startswith(KEPT):
        body = "x" * min(len(body), MAX_BYTES)
    return {
        "request":
        [clean(one.request.start),
         fields(one.request), one.request.framing,
         clean(one.request.body.decode("latin-1"))],
        "response": [one.response.start, fields(one.response), one.response.framing, body],
    }
