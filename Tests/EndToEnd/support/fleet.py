# SPDX-License-Identifier: Apache-2.0
"""Several gateways that share sessions, behind an nginx, and users whose requests hop over them."""

import asyncio
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from .browser import Browser
from .gateway import Gateway, oidc
from .processes import eventually, free_port, nginx

HOSTS = ("notes.localhost", "wiki.localhost")


class Fleet:
    """Gateways with one public URL, one store and one nginx, which also serves two apps that return the user's ID.

    Each user of the provider is another one: who has signed in follows from the nonce of the attempt.
    """
    def __init__(self, folder, realm, store, count, **sessions):
        self.folder, self.realm, self.port, app = folder, realm, free_port(), free_port()
        apps = {
            host.partition(".")[0]: {"host": host, "upstream": f"http://127.0.0.1:{app}", "allow": "signed_in"}
            for host in HOSTS
        }
        self.origin = f"http://gate.localhost:{self.port}"
        self.gateways = [
            Gateway(
                folder / f"gateway-{number}", {"mock": oidc(realm.issuer)}, apps, name=f"gateway-{number}",
                public_url=self.origin, gateway={"trusted_proxies": ["127.0.0.1"]}, sessions={"store": store, **sessions}
            ) for number in range(count)
        ]
        for gateway in self.gateways:
            gateway.configuration["assertion"] = {"keys": str(folder / "keys")}
        realm.who = lambda query: {**realm.user, "sub": subject(query["nonce"]), "email": f"{subject(query['nonce'])}@a.example"}
        servers = "\n".join(f"server 127.0.0.1:{gateway.port} fail_timeout=1s;" for gateway in self.gateways)
        # As deploy/nginx/gatehouse.conf, but with several gateways.
        self.http = f"""
            upstream gatehouse {{ {servers} keepalive 64; }}
            server {{
                listen 127.0.0.1:{self.port};
                location / {{
                    proxy_pass http://gatehouse;
                    proxy_http_version 1.1;
                    proxy_set_header Host $http_host;
                    proxy_set_header Connection "";
                    proxy_set_header X-Forwarded-For $remote_addr;
                    proxy_set_header X-Forwarded-Proto http;
                    proxy_next_upstream error timeout;
                    proxy_buffer_size 32k;
                    proxy_buffers 8 16k;
                    proxy_connect_timeout 5s;
                    keepalive_requests 100000;
                }}
                keepalive_requests 100000;
            }}
            server {{
                listen 127.0.0.1:{app};
                keepalive_requests 100000;
                location / {{ return 200 $http_x_forwarded_user; }}
            }}
        """

    def start(self):
        for gateway in self.gateways:
            gateway.start()
        self.nginx = nginx(self.folder, "nginx", self.http)
        self.nginx.wait_listening(self.port)
        return self

    def end(self):
        self.nginx.stop()
        for gateway in self.gateways:
            gateway.leave()

    def sign_in(self):
        """A browser of a user with a session at both apps."""
        browser = Browser()
        for host in HOSTS:
            page = browser.visit(f"http://{host}:{self.port}/")
            assert page.status == 200, (page, browser.history)
        sent = [urlsplit(url) for _, url, _ in browser.history if "/authorize?" in url]
        assert len(sent) == 1, "one sign-in is enough for both apps"
        browser.user = "mock:" + subject(parse_qs(sent[0].query)["nonce"][0])
        assert page.text == browser.user, (page.text, browser.user)
        return browser

    def sign_in_all(self, count):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda _: self.sign_in(), range(count)))


def subject(nonce):
    """The user who signs in with a nonce."""
    return f"user-{nonce[:12]}"


class Paced:
    """Users who each send a request every `pause` seconds to both apps in turn, over kept connections, until `end`.

    `wrong` lists what must never happen: a response for another user, a redirect, a 401, a cookie that is set. `errors`
    counts what may happen for a time, by phase and kind; `slowest` is the longest time of a response in seconds.
    """
    def __init__(self, port, browsers, pause):
        self.port, self.pause, self.clock = port, pause, time.monotonic
        self.users = [PacedUser(browser) for browser in browsers]
        self.count, self.errors, self.wrong, self.name = 0, {}, [], "before"
        self.ended, self.slowest = False, 0
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.thread.start()

    async def _run(self):
        now = self.clock()
        for user in self.users:
            user.last = now
        await asyncio.gather(*(self._talk(user, position) for position, user in enumerate(self.users)))

    async def _talk(self, user, position):
        await asyncio.sleep(self.pause * position / len(self.users))
        number, streams = position, None
        while not self.ended:
            number += 1
            host = HOSTS[number % len(HOSTS)]
            began = self.clock()
            try:
                streams = streams or await asyncio.open_connection("127.0.0.1", self.port)
                status, fields, body = await asyncio.wait_for(user.exchange(streams, host, self.port), 20)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                status, fields, body = type(error).__name__, {}, b""
            if not isinstance(status, int) or fields.get("connection", "").lower() == "close":
                if streams:
                    streams[1].close()
                streams = None
            self.slowest = max(self.slowest, self.clock() - began)
            self._judge(user, status, fields, body.decode(errors="replace"))
            await asyncio.sleep(max(0, self.pause - (self.clock() - began)))
        if streams:
            streams[1].close()

    def _judge(self, user, status, fields, text):
        self.count += 1
        if "set-cookie" in fields or status in (301, 302, 303, 307, 308, 401, 403):
            return self.wrong.append((self.name, status, fields, text[:200]))
        if status == 200:
            if text != user.name:
                self.wrong.append((self.name, user.name, text[:200]))
            now = self.clock()
            user.gap = max(user.gap, now - user.last)
            user.last, user.good = now, user.good + 1
            return
        kind = f"{status} {'nginx' if status == 502 and fields.get('server', '').startswith('nginx') else code(text)}".strip()
        self.errors.setdefault(self.name, Counter())[kind] += 1

    @contextmanager
    def phase(self, name):
        """Names what happens now; ends when each user is served again."""
        self.name = name
        yield
        self.all_served(name)

    def all_served(self, name, seconds=30):
        """Waits until each user gets two more responses, so one of each app."""
        before = [user.good for user in self.users]
        eventually(
            lambda: self.wrong or all(user.good >= count + 2 for user, count in zip(self.users, before)),
            f"each user is served: {name}: {self.errors}", seconds
        )
        assert self.wrong[:3] == [], self.wrong[:3]

    def gap(self):
        """The longest time that a user was without a response, in seconds, since the last call."""
        longest = max(user.gap for user in self.users)
        for user in self.users:
            user.gap = 0
        return longest

    def end(self):
        self.ended = True
        self.thread.join(30)
        assert not self.thread.is_alive()


class PacedUser:
    """One of these users."""
    def __init__(self, browser):
        self.name = browser.user
        self.cookies = {host: "; ".join(f"{k}={v}" for k, v in browser.cookies[host].items()) for host in HOSTS}
        self.last, self.gap, self.good = 0, 0, 0

    async def exchange(self, streams, host, port):
        """A request over a kept connection; status, fields and body."""
        reader, writer = streams
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {self.cookies[host]}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        return int(head[0].split()[1]), fields, body


def code(text):
    """The code of an error as scripts get it."""
    try:
        return json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
