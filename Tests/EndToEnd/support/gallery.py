# SPDX-License-Identifier: Apache-2.0
"""Each page that a user can see, opened in Chromium: for the tests of pages and for `make gallery`."""

import base64
import importlib.metadata
import json
from contextlib import contextmanager

import html5lib

from .accounts import PASSWORD, add, users
from .browser import Browser
from .chromium import Chromium
from .gateway import Gateway, oidc
from .oauth_client import Client
from .operations import command
from .processes import free_port
from .provider import ProviderServer
from .upstream import Upstream

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 40"><rect width="40" height="40" rx="8" fill="#0b7a5b"/>'
    '<path d="M10 30 20 10l10 20h-6l-4-9-4 9z" fill="#fff"/><text x="52" y="28" font-family="sans-serif" font-size="22" '
    'font-weight="700" fill="#0b7a5b">Acme</text></svg>'
)
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><rect width="40" height="40" rx="8" fill="{color}"/>'
    '<circle cx="20" cy="20" r="9" fill="#fff"/></svg>'
)
#: A language that is written from right to left, of which only some texts are translated.
ARABIC = {
    "sign_in": "تسجيل الدخول", "sign_in_with": "تسجيل الدخول باستخدام {{provider}}",
    "chooser_intro": "للمتابعة إلى <strong>{{app}}</strong>", "apps_title": "تطبيقاتك", "account_title": "حسابك",
    "sign_out": "تسجيل الخروج", "failure.access_denied.title": "لا يمكنك فتح {{app}}",
}
APPS = {
    "wiki": ("Team wiki", "What we know, and who knows it", "Knowledge", "#7a3e9d"),
    "docs": ("Handbook", "How we work", "Knowledge", "#0b57d0"),
    "grafana": ("Grafana", "Dashboards and alerts", "Operations", "#d9480f"),
    "builds": ("Builds", None, "Operations", None),
    "tickets": ("Tickets", "Ask for help, or give it", None, "#146c2e"),
    "pay": ("Payroll", "Your payslips", None, None),
    "hours": ("Hours", "What you did when", None, "#5b5f00"),
    "menu": ("Canteen", "What there is to eat", None, None),
}


class Gallery:
    """A gateway with a brand, apps, providers and a client, and a browser."""
    def __init__(self, folder, branded=True):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.provider, self.app = ProviderServer(), Upstream()
        staff, partner = self.provider.realm("staff"), self.provider.realm("partner")
        staff.user = {
            "sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example",
            "preferred_username": "ada", "groups": ["engineering", "on-call", "wiki-editors"],
        }
        mapping = {"groups": ["id_token:/groups"]}
        providers = {
            "staff": oidc(staff.issuer, name="Staff directory", domains=["example.com"], profile=mapping),
            "partner": oidc(
                partner.issuer, name="Partners", authorization_parameters={"login_hint": "all@partner.example"}
            ), "local": {"type": "local", "registration": {"domains": ["example.com"]}},
        }
        self.accounts = self.clients = 0
        apps = {name: self.entry(name, *look) for name, look in APPS.items()}
        apps["wiki"]["scopes"] = {"wiki.write": "Change and delete pages"}
        apps["pay"]["providers"] = ["partner"]
        apps["pay"]["display"]["listed"] = "everyone"
        apps["secret"] = self.entry("secret", "Secret plans", None, None, None) | {"allow": [{"group": "board", "provider": "staff"}]}
        apps["vault"] = self.entry("vault", "Vault", None, None, None) | {"allow": [{"authenticated": "passkey", "provider": "staff"}]}
        apps["closed"] = self.entry("closed", "Closed shop", None, None, None) | {"maintenance": True}
        apps["down"] = self.entry("down", "Down app", None, None, None) | {"upstream": f"http://127.0.0.1:{free_port()}"}
        for name in ("closed", "down", "vault"):
            apps[name]["display"]["listed"] = "never"
        self.gateway = Gateway(folder, providers, apps, gateway={"trusted_proxies": ["127.0.0.1"]})
        self.gateway.configuration["mail"] = {"server": f"smtp://127.0.0.1:{free_port()}", "plain": True, "from": "gate@example.com"}
        self.gateway.configuration["passkeys"] = {}
        self.gateway.configuration["connected_accounts"] = {"user_key": "first"}
        self.partner = partner.user["sub"]
        self.gateway.configuration["clients"] = {
            "notes": {"type": "native", "name": "Notes", "redirect_uris": ["com.example.notes:/back"], "allow": "signed_in", "audiences": ["wiki"],
                      "grants": ["authorization_code", "refresh_token", "device_code"]},
        }
        if branded:
            (folder / "logo.svg").write_text(LOGO)
            self.gateway.configuration["pages"] = {
                "organization": "Acme", "logo": "logo.svg", "support": "help@example.com", "texts": {"ar": ARABIC},
            }

    def entry(self, name, title, description, group, color):
        display = {"name": title, "description": description, "group": group}
        if color:
            (self.folder / f"{name}.svg").write_text(ICON.format(color=color))
            display["icon"] = f"{name}.svg"
        display = {key: value for key, value in display.items() if value}
        return {
            "path": f"/{name}/", "upstream": self.app.address, "allow": "signed_in", "display": display,
            "accept": ["session", "token"]
        }

    def __enter__(self):
        self.gateway.start()
        self.browser = Chromium(self.folder)
        return self

    def __exit__(self, *failure):
        self.browser.close()
        self.gateway.__exit__(*failure)
        self.provider.shutdown()
        self.app.close()

    def go(self, path):
        """Opens a page and waits until it is complete."""
        url = path if "://" in path else self.gateway.origin + path
        loads = self.browser.loads
        self.browser.go(url)
        self.browser.until_loaded(loads)

    def click(self, selector):
        loads = self.browser.loads
        self.browser.click(selector)
        self.browser.until_loaded(loads)

    def sign_in(self, provider="staff", path="/oauth2/apps"):
        self.go(f"/oauth2/start/{provider}?rd={path}")

    def device(self):
        client = Client(self.gateway, "notes", "com.example.notes:/back")
        return client.ask("POST", "/oauth2/device_authorization", {"client_id": "notes", "scope": "openid"}).json

    def pages(self):
        """Opens each page after the other, and yields its name while it is open."""
        self.browser.call("Network.clearBrowserCookies")
        for name, path in (
            ("sign-in", "/oauth2/sign_in?rd=/wiki/"), ("sign-in-unknown", "/oauth2/sign_in?rd=/wiki/&email=a@unknown.example"),
            ("failure-lost", "/oauth2/callback/staff?code=x&state=y"), ("failure-none", "/oauth2/nothing"),
            ("signed-out-before", "/oauth2/sign_out"),
        ):
            self.go(path)
            yield name
        # Another session, which the page about the account can end.
        Browser(self.gateway).sign_in("staff", "/oauth2/apps")
        self.sign_in()
        yield "apps"
        for name, path in (
            ("apps-search", "/oauth2/apps?q=wiki"), ("apps-none", "/oauth2/apps?q=zzz"), ("account", "/oauth2/account"),
            ("failure-denied", "/secret/"), ("failure-closed", "/closed/"), ("failure-down", "/down/"),
            ("consent", Client(self.gateway, "notes", "com.example.notes:/back", scope="openid wiki.write").url()), ("device", "/oauth2/device"),
            ("device-unknown", "/oauth2/device?user_code=BCDF-GHJK"),
        ):
            self.go(path)
            yield name
        self.go(self.device()["verification_uri_complete"])
        yield "device-consent"
        self.click("button[value=allow]")
        yield "device-done"
        yield from self.passkey_pages()
        self.go("/oauth2/sign_out")
        yield "sign-out"
        self.click("form button")
        yield "signed-out"
        yield from self.account_pages()

    def passkey_pages(self):
        """The pages about passkeys, with an authenticator of Chromium."""
        self.go("/vault/")
        yield "passkey-none"
        self.go("/oauth2/passkeys")
        yield "passkeys-confirm"
        self.browser.call("WebAuthn.enable")
        options = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }
        device = self.browser.call("WebAuthn.addVirtualAuthenticator", options=options)["authenticatorId"]
        self.click("a.primary")
        yield "passkeys-add"
        self.click("form[data-passkey=create] button")
        yield "passkeys-confirm-use"
        self.click("form[data-passkey=get] button")
        yield "passkeys"
        self.sign_in()
        self.go("/vault/")
        yield "passkey"
        self.go("/oauth2/connected")
        self.click("form[data-passkey=get] button")
        yield "connected-add"
        self.click("a[href*='/start/partner']")
        yield "connect"
        self.click("form button")
        yield "connected"
        self.click("form[data-passkey=get] button")
        yield "connected-change"
        self.browser.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=device)
        command(self.gateway, "users", "disconnect", f"partner:{self.partner}")
        command(self.gateway, "passkeys", "remove", "staff:ada")

    def account_pages(self):
        """The pages of a local account."""
        self.accounts += 1
        name = f"grace{self.accounts}@example.com"
        self.go(users(self.gateway, "add", "--email", f"new{name}")["link"])
        yield "choose-password"
        add(self.gateway, name)
        self.go("/oauth2/join/local")
        yield "join"
        self.go("/oauth2/recover/local")
        yield "recover"
        self.fill(email=name)
        yield "link-sent"
        self.go("/oauth2/start/local?rd=/oauth2/credentials")
        yield "password"
        self.fill(username=name, password="wrong")
        yield "password-wrong"
        self.fill(username=name, password=PASSWORD)
        yield "credentials"

    def fill(self, **values):
        """Fills in the form of the page, and sends it."""
        for field, value in values.items():
            self.browser.evaluate(f"document.getElementById({json.dumps(field)}).value = {json.dumps(value)}")
        self.click("form button")

    def picture(self):
        """The whole page as PNG."""
        # Not beyond the viewport unless the page is: Chromium moves pages from right to left for that.
        beyond = self.browser.evaluate("document.documentElement.scrollHeight > innerHeight")
        return base64.b64decode(self.browser.call("Page.captureScreenshot", captureBeyondViewport=beyond)["data"])

    @contextmanager
    def looks(self, scheme="light", width=1000, language="en"):
        """The browser of a user with such a screen, scheme and language."""
        browser = self.browser
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=760, deviceScaleFactor=1, mobile=width < 500
        )
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # A client of its own each time, since codes of devices can be tried ten times a minute.
        self.clients += 1
        client = f"198.51.100.{self.clients}"
        browser.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": language, "X-Forwarded-For": client})
        yield self
        browser.call("Network.setExtraHTTPHeaders", headers={})
        browser.call("Emulation.clearDeviceMetricsOverride")


def axe():
    """The source of axe-core."""
    files = importlib.metadata.files("axe-playwright-python")
    return next(file for file in files if file.name == "axe.min.js").read_text(encoding="utf-8")


def violations(browser, source):
    """What axe-core finds wrong with the open page: WCAG 2.2 A and AA, and its best practices."""
    browser.evaluate(source)
    found = browser.call(
        "Runtime.evaluate",
        expression="axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        ".then(result => JSON.stringify(result.violations.map(v => [v.id, v.nodes.map(n => n.html)])))", returnByValue=True,
        awaitPromise=True,
    )
    return json.loads(found["result"]["value"])


def html_errors(text):
    """Where a strict parser of the HTML standard disagrees with a page."""
    parser = html5lib.HTMLParser(strict=False)
    parser.parse(text)
    return [(position, code) for position, code, _ in parser.errors]
