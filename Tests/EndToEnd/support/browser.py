# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen: cookies per host, redirects, forms; every name leads to 127.0.0.1."""

import functools
import re
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

from .raw import Wire, tls_context


#: Making one reads all certificates of the system.
trusting_context = functools.cache(tls_context)


class Browser:
    """One browser profile."""
    def __init__(self, gateway=None):
        self.gateway = gateway
        self.cookies = {}
        self.set_cookies = []
        self.history = []
        self.url = None

    def send(self, method, url, body=None, fields=None, navigates=True):
        """One request, redirects not followed."""
        url = urljoin(self.gateway.origin, url) if self.gateway else url
        parts = urlsplit(url)
        host = parts.hostname
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = {"Host": parts.netloc, "Connection": "close", "User-Agent": "test"}
        if navigates:
            lines |= {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        if self.cookies.get(host):
            lines["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies[host].items())
        data = b""
        if body is not None:
            data = body if isinstance(body, bytes) else urlencode(body).encode()
            lines |= {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(data))}
            lines |= {"Origin": f"{parts.scheme}://{parts.netloc}", "Sec-Fetch-Site": "same-origin"}
        for name, value in (fields or {}).items():
            lines.pop(name, None)
            if value is not None:
                lines[name] = value
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        tls = {"tls": trusting_context(), "server_name": host} if parts.scheme == "https" else {}
        with Wire(parts.port or (443 if tls else 80), **tls) as wire:
            wire.send(head.encode("latin-1") + b"\r\n" + data)
            response = wire.response(method)
        assert response is not None, f"no response to {method} {url}"
        response.url = url
        self.url = url
        self.history.append((method, url, response.status))
        for line in response.all("set-cookie"):
            self._store(host, line)
        return response

    def _store(self, host, line):
        self.set_cookies.append((host, line))
        pair, *attributes = [part.strip() for part in line.split(";")]
        name, _, value = pair.partition("=")
        jar = self.cookies.setdefault(host, {})
        if any(attribute.lower() == "max-age=0" for attribute in attributes):
            jar.pop(name, None)
        else:
            jar[name] = value

    def visit(self, url, method="GET", body=None, stop=None, fields=None, at_most=15):
        """Opens a URL and follows redirects; stops before a URL that `stop` accepts."""
        response = self.send(method, url, body, fields)
        for _ in range(at_most):
            if response.status not in (301, 302, 303, 307, 308):
                return response
            url = urljoin(response.url, response.get("location"))
            if stop and stop(url):
                response.next = url
                return response
            response = self.send("GET", url)
        raise AssertionError(f"redirected in circles: {self.history}")

    def submit(self, page, button=0, form=0, stop=None):
        """Presses a button of a form."""
        method, action, fields, buttons = forms(page)[form]
        name, value = buttons[button]
        body = {**fields, **({name: value} if name else {})}
        return self.visit(urljoin(page.url, action), method, body, stop=stop)

    def begin(self, provider, rd="/"):
        """Starts a sign-in; returns the URL at the provider."""
        response = self.send("GET", "/oauth2/start/" + provider + "?" + urlencode({"rd": rd}))
        assert response.status == 303, response
        return response.get("location")

    def authorize(self, address):
        """Lets the provider agree; returns the URL of the callback."""
        response = Browser().send("GET", address)
        assert response.status in (302, 303), response
        return response.get("location")

    def sign_in(self, provider, rd="/"):
        """A whole sign-in; gives the page at the end."""
        return self.visit("/oauth2/start/" + provider + "?" + urlencode({"rd": rd}))

    def sign_out(self, rd="/", origin=None):
        return self.send("POST", (origin or "") + "/oauth2/sign_out?" + urlencode({"rd": rd}), body={})

    def ticket(self, host=None):
        """The value of the session cookie, or None."""
        jar = self.cookies.get(host or self.gateway.host, {})
        return jar.get("gatehouse") or jar.get("__Host-gatehouse")


def links(page):
    """The URLs of the links of a page."""
    return [unescape(value) for value in re.findall(r'<a [^>]*href="([^"]*)"', page.text)]


def forms(page):
    """The forms of a page: (method, action, hidden fields, buttons), each button a pair of name and value."""
    found = []
    for tag, inner in re.findall(r"<form([^>]*)>(.*?)</form>", page.text, re.DOTALL):
        fields = {}
        for line in re.findall(r"<input([^>]*)>", inner):
            fields[unescape(attribute(line, "name") or "")] = unescape(attribute(line, "value") or "")
        buttons = [
            (unescape(attribute(line, "name") or ""), unescape(attribute(line, "value") or ""))
            for line in re.findall(r"<button([^>]*)>", inner)
        ]
        found.append(
            ((attribute(tag, "method") or "get").upper(), unescape(attribute(tag, "action") or ""), fields, buttons)
        )
    return found


def attribute(tag, name):
    match = re.search(rf'\b{name}="([^"]*)"', tag)
    return match.group(1) if match else None
