# SPDX-License-Identifier: Apache-2.0
"""Rules about requests: paths, methods, networks, times and recent sign-ins, through real requests."""

import json
import re
import time
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.processes import eventually
from support.raw import request
from support.upstream import Upstream

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
#: Whole days, so that a test that runs at midnight still has tomorrow on another side.
TODAY, FAR = DAYS[time.gmtime().tm_wday], DAYS[(time.gmtime().tm_wday + 3) % 7]
NEAR = [DAYS[(time.gmtime().tm_wday + shift) % 7] for shift in (-1, 0, 1)]

APPS = {
    "wiki":
        {
            "path": "/",
            "deny":
                [
                    {"path": "/admin/**", "not": {"user": "mock:root"}},
                    {"method": "DELETE"},
                    {"use": "strangers"},
                ],
            "allow": [{"use": "staff"}],
            "public": ["/open/", {"path": "/metrics/**", "network": ["198.51.100.0/24"]}],
        },
    "inside": {"path": "/inside", "allow": [{"network": "198.51.100.0/24"}, {"network": "2001:db8::/32"}]},
    "today": {"path": "/today", "allow": [{"time": {"days": NEAR, "zone": "UTC"}}]},
    "never": {"path": "/never", "allow": [{"time": {"days": FAR, "zone": "UTC"}}]},
    "fresh":
        {
            "path": "/fresh",
            "allow": [{"path": "/fresh/**", "not": {"path": "/fresh/safe/**"}},
                      {"path": "/fresh/safe/**", "authenticated": "within 5m"}],
        },
    "remote":
        {"host": "remote.localhost", "allow": [{"email_domain": "example.com", "authenticated": "within 5m"}]},
}
INCLUDED = {
    "rules": {"staff": [{"email_domain": "example.com"}, {"user": "mock:root"}], "strangers": [{"user": "mock:eve"}]}
}


class RuledGateway(Gateway):
    """A gateway with an included file, and YAML as operators write it."""
    def write(self, configuration=None):
        (self.folder / "rules").mkdir(exist_ok=True)
        (self.folder / "rules" / "all.yaml").write_text(yaml.safe_dump(INCLUDED, sort_keys=False))
        self.path.write_text(yaml.safe_dump(configuration or self.configuration, sort_keys=False))

    def line(self, text, file=None):
        lines = (file or self.path).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def access(self, path):
        """The access line of a path, once it is written."""
        found = []

        def is_written():
            lines = (self.folder / "access.log").read_text().split("\n")[:-1]
            found[:] = [line for line in map(json.loads, lines) if line.get("path") == path]
            return found

        eventually(is_written, f"the access line of {path}")
        return found[-1]


@pytest.fixture(scope="module")
def app():
    app = Upstream()
    yield app
    app.close()


@pytest.fixture(scope="module")
def ruled(tmp_path_factory, provider_server, app):
    apps = {name: {"upstream": app.address, **settings} for name, settings in APPS.items()}
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    folder = tmp_path_factory.mktemp("ruled")
    gateway = RuledGateway(folder, providers, apps, gateway={"trusted_proxies": ["127.0.0.1"]})
    gateway.configuration["include"] = ["rules/all.yaml"]
    gateway.configuration["logs"] = {"format": "json", "access": str(folder / "access.log")}
    with gateway:
        yield gateway


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("mock").fresh() as realm:
        yield realm


def signed_in(gateway, realm, subject="ada", path="/", **claims):
    realm.user = {**realm.user, "sub": subject, **claims}
    browser = Browser(gateway)
    assert browser.sign_in("mock", path).status in (200, 403)
    return browser


def code(response):
    return re.search(r"<code>([a-z_.0-9]+)</code> and <code>", response.text)[1] if response.status >= 400 else None


@pytest.fixture
def ada(ruled, realm):
    return signed_in(ruled, realm)


@pytest.mark.parametrize(
    "path",
    [
        "/admin", "/admin/", "/admin/users", "/Admin/users", "/%61dmin/users", "/admin%2Fusers", "/x/../admin", "//admin/x",
        "/admin;a=b/users", "/./admin/x", "/%2561dmin/x", "/x%2F..%2Fadmin", "/admin%5Cx", "/ADMIN",
    ],
)
def test_no_spelling_of_a_path_evades_its_denial(ruled, ada, app, path):
    before = len(app.requests)
    fields = [("Cookie", f"gatehouse={ada.ticket()}")]
    response = request(ruled.port, path, f"gate.localhost:{ruled.port}", fields=fields)
    assert response.status in (400, 403), response
    assert len(app.requests) == before


def test_a_path_that_no_rule_denies_is_forwarded_in_every_spelling(ada):
    for path in ("/administration", "/Wiki/Page", "/a%20b", "/a%2Fb", "/x;v=1"):
        assert ada.send("GET", path).status == 200, path


def test_a_denied_path_cannot_be_the_target_of_webdav(ada, ruled):
    for target in ("/admin/x", "/Admin/x", "/%61dmin/x", "/x/../admin"):
        fields = {"Destination": f"{ruled.origin}{target}", "Origin": ruled.origin}
        assert ada.send("COPY", "/page", fields=fields).status in (400, 403), target
    assert ada.send("COPY", "/page", fields={"Destination": f"{ruled.origin}/copy"}).status == 200


def test_the_exception_of_a_denial_holds_for_its_user_only(ruled, realm):
    root = signed_in(ruled, realm, "root", email="root@example.org")
    assert root.send("GET", "/admin/users").status == 200


def test_a_method_is_denied_and_the_log_names_the_rule(ada, ruled):
    assert code(ada.send("DELETE", "/page/deleted", fields={"Origin": ruled.origin})) == "policy.denied"
    line = ruled.access("/page/deleted")
    assert (line["decision"], line["rule"]) == ("denied", ruled.line("method: DELETE"))
    assert "rule_file" not in line


def test_a_rule_of_an_included_file_is_named_by_its_file_and_line(ada, ruled, realm):
    assert ada.send("GET", "/included").status == 200
    line, file = ruled.access("/included"), ruled.folder / "rules" / "all.yaml"
    assert (line["rule_file"], line["rule"]) == (str(file), ruled.line("email_domain", file))
    page = signed_in(ruled, realm, "eve").send("GET", "/page")
    assert code(page) == "policy.denied"
    incident = re.search(r"and <code>([A-Za-z0-9_-]{12})</code>", page.text)[1]
    report = run("explain", incident, "--config", ruled.path, cwd=ruled.folder).stdout
    assert f"line {ruled.line('mock:eve', file)} of {file}: - user: mock:eve" in report


@pytest.mark.parametrize(
    ("client", "status"),
    [("198.51.100.7", 200), ("198.51.101.7", 403), ("2001:db8::1", 200), ("2001:db9::1", 403), ("unknown", 403)],
)
def test_a_network_is_that_of_the_client_before_trusted_proxies(ada, client, status):
    assert ada.send("GET", "/inside/", fields={"X-Forwarded-For": client}).status == status


def test_hours_and_days_decide(ada):
    assert ada.send("GET", "/today/").status == 200
    assert code(ada.send("GET", "/never/")) == "policy.refused"


def test_a_trusted_network_needs_no_sign_in_and_has_its_own_identity(ruled, app):
    inside, outside = [("X-Forwarded-For", "198.51.100.9")], [("X-Forwarded-For", "192.0.2.1")]
    response = request(ruled.port, "/metrics/app", fields=[*inside, ("X-Forwarded-User", "mock:root")])
    assert response.status == 200
    received = app.requests[-1]
    assert received.all("x-forwarded-user") == ["anonymous@network"]
    assert not received.all("x-forwarded-email") and len(received.all("x-gatehouse-assertion")) == 1
    assert request(ruled.port, "/metrics/app", fields=outside).status == 401
    assert request(ruled.port, "/other", fields=inside).status == 401
    assert request(ruled.port, "/x%2F..%2Fmetrics/app", fields=inside).status in (400, 401)
    foreign = [*inside, ("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    assert request(ruled.port, "/metrics/app", method="POST", fields=foreign).status == 403
    line = ruled.access("/metrics/app")
    assert line["decision"] in ("allowed", "rejected", "denied", "sign_in")


def test_a_signed_in_user_of_a_trusted_network_stays_that_user(ada, app):
    assert ada.send("GET", "/metrics/x", fields={"X-Forwarded-For": "198.51.100.9"}).status == 200
    assert app.requests[-1].all("x-forwarded-user") == ["mock:ada"]


def test_an_old_authentication_leads_to_a_new_sign_in_with_max_age(ruled, realm):
    realm.claims = lambda claims: {**claims, "auth_time": int(time.time()) - 3600}
    browser = signed_in(ruled, realm, path="/fresh/page")
    assert browser.send("GET", "/fresh/page").status == 200
    assert "max_age" not in realm.requests[-1]["query"]
    # The provider asks the user again.
    realm.claims = lambda claims: {**claims, "auth_time": int(time.time()) - 2}
    stopped = browser.visit("/fresh/safe/x", stop=lambda url: url.startswith(realm.issuer))
    assert parse_qs(urlsplit(stopped.next).query)["max_age"] == ["300"]
    assert browser.visit(stopped.next).status == 200
    assert browser.send("GET", "/fresh/safe/x").status == 200


def test_a_provider_that_does_not_ask_again_is_reported_and_not_asked_in_circles(ruled, realm):
    realm.claims = lambda claims: {**claims, "auth_time": int(time.time()) - 3600}
    browser = signed_in(ruled, realm)
    page = browser.visit("/fresh/safe/x")
    assert (page.status, code(page)) == (403, "policy.authentication_stale")
    # The session of before goes on.
    assert browser.send("GET", "/page").status == 200
    assert browser.send("GET", "/fresh/safe/x", navigates=False).status == 401


def test_an_app_on_its_own_host_asks_for_a_recent_authentication_too(ruled, realm):
    realm.claims = lambda claims: {**claims, "auth_time": int(time.time()) - 3600}
    browser = signed_in(ruled, realm)
    realm.claims = lambda claims: {**claims, "auth_time": int(time.time())}
    page = browser.visit(f"http://remote.localhost:{ruled.port}/")
    assert page.status == 200
    asked = [one["query"] for one in realm.requests if one["path"] == "authorize"]
    assert asked[-1]["max_age"] == "300"


def test_a_changed_included_file_is_loaded(ruled, realm, ada):
    assert ada.send("GET", "/page").status == 200
    file = ruled.folder / "rules" / "all.yaml"
    kept = file.read_text()
    file.write_text(kept.replace("mock:eve", "mock:ada"))
    try:
        eventually(lambda: ada.send("GET", "/page").status == 403, "the file is loaded", 15)
    finally:
        file.write_text(kept)
        eventually(lambda: ada.send("GET", "/page").status == 200, "the file is loaded", 15)


# The commands


def explain(gateway, *arguments, code=0):
    result = run("policy", "explain", *arguments, "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == code, result
    return result.stdout


def test_explain_agrees_with_the_gateway_and_names_each_rule(ruled, ada, tmp_path):
    profile = tmp_path / "ada.json"
    profile.write_text(ada.send("GET", "/oauth2/userinfo", navigates=False).text)
    found = json.loads(explain(ruled, "wiki", "--as", profile, "--path", "/admin/x", "--json"))
    assert (found["decision"], found["rule"]) == ("denied", ruled.line("path: /admin/**"))
    assert [rule["list"] for rule in found["rules"]] == ["public"] * 2 + ["deny"] * 3 + ["allow"] * 2
    text = explain(ruled, "wiki", "--as", profile, "--path", "/page")
    assert text.startswith("wiki: allowed by ") and "email_domain: example.com" in text
    assert explain(ruled, "inside", "--as", profile, "--path", "/inside/").startswith("inside: denied")
    network = ("--network", "198.51.100.1")
    assert explain(ruled, "inside", "--as", profile, "--path", "/inside/", *network).startswith("inside: allowed")
    assert explain(ruled, "wiki", "--path", "/page").startswith("wiki: sign_in")
    assert explain(ruled, "wiki", "--path", "/metrics", *network).startswith("wiki: public")
    explain(ruled, "nothing", "--path", "/page", code=1)
    explain(ruled, "wiki", "--path", "/inside/", code=1)


def test_explain_asks_the_gateway_for_the_profile_of_a_user(ruled, ada):
    eventually(lambda: "mock:ada" in run("users", "list", "--config", ruled.path, cwd=ruled.folder).stdout, "ada is known")
    assert explain(ruled, "wiki", "--as", "mock:ada", "--path", "/page").startswith("wiki: allowed by ")
    explain(ruled, "wiki", "--as", "mock:unheard", "--path", "/page", code=1)


CASES = """\
users:
  ada: { user: "mock:ada", email: ada@example.com }
cases:
  - { app: wiki, as: ada, path: /page, expect: allowed }
  - { app: wiki, as: ada, path: /page, method: DELETE, expect: denied }
  - { app: wiki, path: /page, expect: sign_in }
  - { app: wiki, path: /open/x, expect: public }
  - { app: fresh, as: ada, path: /fresh/safe/x, authenticated: 10m, expect: sign_in }
  - { app: fresh, as: ada, path: /fresh/safe/x, authenticated: 1m, expect: allowed }
  - { app: inside, as: ada, path: /inside, client: 198.51.100.1, expect: allowed }
"""


def test_cases_pass_or_name_what_differs(ruled, tmp_path):
    cases = tmp_path / "cases.yaml"
    cases.write_text(CASES)
    result = run("policy", "test", cases, "--config", ruled.path, cwd=ruled.folder)
    assert (result.returncode, result.stdout) == (0, "7 cases, 0 failed\n")
    cases.write_text(CASES.replace("/page, expect: allowed", "/admin, expect: allowed"))
    result = run("policy", "test", cases, "--config", ruled.path, cwd=ruled.folder)
    place = f"{ruled.path}:{ruled.line('path: /admin/**')}"
    assert result.returncode == 1
    assert result.stdout == f"{cases}:4: expected allowed, found denied by {place}\n7 cases, 1 failed\n"
    found = json.loads(run("policy", "test", cases, "--config", ruled.path, "--json", cwd=ruled.folder).stdout)
    assert (found["cases"], found["failed"], found["results"][0]["line"]) == (7, 1, 4)
    cases.write_text(CASES.replace("as: ada", "as: eda", 1).replace("expect: public", "expect: publiced"))
    result = run("policy", "test", cases, "--config", ruled.path, cwd=ruled.folder)
    assert result.returncode == 1 and "did you mean 'ada'?" in result.stderr and "did you mean 'public'?" in result.stderr
