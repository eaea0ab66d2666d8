# SPDX-License-Identifier: Apache-2.0
"""/status: JSON with a schema for programs, a page for a browser."""

import json
import re
import time
from html.parser import HTMLParser

import jsonschema
import pytest
import requests

from support.browser import Browser
from support.chromium import CHROMIUM, CONTRAST, Chromium
from support.gateway import Gateway, oidc, run
from support.processes import REPOSITORY, certificate, eventually, free_port
from support.raw import request
from support.upstream import Upstream

SCHEMA = json.loads((REPOSITORY / "docs/status.schema.json").read_text())
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
HOSTILE = "\"><script>alert(1)</script>\u0600<b>\u202e"


def apps(app, count):
    made = {
        f"app-{number}": {"host": f"app-{number}.localhost", "upstream": app.address, "allow": "signed_in"}
        for number in range(count)
    }
    return {"wiki": {"path": "/", "upstream": app.address, "allow": "signed_in"}, **made}


@pytest.fixture(scope="module")
def app():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def well(tmp_path_factory, provider_server, app):
    """A gateway with forty apps at which nothing is wrong, one sign-in and one rejection after the start."""
    realm = provider_server.realm("mock")
    folder = tmp_path_factory.mktemp("well")
    tls = [dict(zip(("certificate", "private_key"), certificate(folder, "gate", "*.localhost", "gate.localhost")))]
    with realm.fresh():
        listener = {"address": f"127.0.0.1:{free_port()}", "tls": tls}
        with Gateway(folder, {"mock": oidc(realm.issuer)}, apps(app, 39), listeners=[listener]) as gateway:
            assert Browser(gateway).sign_in("mock", "/").status == 200
            assert request(gateway.port, "/%zz").status == 400
            yield gateway


@pytest.fixture(scope="module")
def broken(tmp_path_factory, provider_server, app):
    """A gateway at which everything fails that can be made to fail."""
    realm = provider_server.realm("mock")
    folder = tmp_path_factory.mktemp("broken")
    made = apps(app, 1)
    health = {"path": "/", "interval": "1s", "timeout": "500ms"}
    made["dead"] = {"path": "/dead", "upstream": {"targets": ["http://127.0.0.1:9"], "health": health}, "allow": "signed_in"}
    made["closed"] = {"path": "/closed", "upstream": app.address, "allow": "signed_in", "maintenance": True}
    tls = [dict(zip(("certificate", "private_key"), certificate(folder, "other", "other.example.com")))]
    providers = {"mock": oidc(realm.issuer), "gone": oidc("http://127.0.0.1:9")}
    with realm.fresh():
        gateway = Gateway(
            folder, providers, made, listeners=[{"address": f"127.0.0.1:{free_port()}", "tls": tls}],
            sessions={"store": f"sqlite:{folder}/sessions.db"}
        )
        with gateway:
            realm.make = lambda claims, realm: "x"
            for _ in range(11):
                assert Browser(gateway).sign_in("mock", "/").status == 502
            assert request(gateway.port, "/oauth2/start/gone?rd=/").status == 502
            gateway.path.write_text(json.dumps({**gateway.configuration, HOSTILE: 1}))
            (folder / "sessions.db").unlink()
            eventually(lambda: status(gateway)["last_reload_failed"], "the reload has failed")
            eventually(lambda: "GatehouseUpstreamDown" in sections(status(gateway)), "the target is down")
            yield gateway


def status(gateway):
    return gateway.operation("/status").json()


def sections(state):
    return [warning["run_book"] for warning in state["warnings"]]


def page(gateway, path="/status", **fields):
    return requests.get(f"http://127.0.0.1:{gateway.operations}{path}", headers={"Accept": BROWSER, **fields}, timeout=5)


@pytest.mark.parametrize(
    "accept, is_page", [
        (BROWSER, True), ("text/html", True), ("*/*", False), (None, False), ("application/json", False),
        ("application/json, text/html;q=0.5", False), ("text/html;q=0", False), ("text/*", False),
    ]
)
def test_a_browser_gets_a_page_and_every_other_client_json(accept, is_page, well):
    response = page(well, Accept=accept)
    kind = "text/html; charset=utf-8" if is_page else "application/json"
    assert response.status_code == 200 and response.headers["content-type"] == kind
    assert response.headers["vary"] == "Accept" and response.headers["cache-control"] == "no-store"


def test_the_page_and_its_parts_are_not_on_the_public_listener(well):
    for path in ("/status", "/status/style.css"):
        assert request(well.port, path, host="gate.localhost").status == 401


def test_the_page_is_only_for_hosts_of_this_machine(well):
    """As the JSON: DNS rebinding."""
    assert page(well, Host="evil.example.com").status_code == 421
    assert page(well, "/status/style.css", Host="evil.example.com").status_code == 421


def closed(schema):
    """The schema without members that it does not name."""
    if isinstance(schema, dict):
        members = {name: closed(value) for name, value in schema.items()}
        return {**members, "additionalProperties": False} if "properties" in schema else members
    return [closed(one) for one in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("state", ["well", "broken"])
def test_the_json_is_as_the_schema_has_it(state, request):
    """All that is there is described, and what is described is there."""
    assert run("schema", "--status").stdout == (REPOSITORY / "docs/status.schema.json").read_text()
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = status(request.getfixturevalue(state))
    jsonschema.validate(found, closed(SCHEMA))
    assert found["version"] == 1 and abs(found["at"] - time.time()) < 60


def test_a_gateway_that_is_well_has_its_numbers_and_no_warning(well):
    found = status(well)
    assert found["warnings"] == [] and len(found["app_states"]) == 40
    assert sum(found["history"]["sign_ins"]) == 1 and sum(found["history"]["rejections"]) >= 1
    provider = found["provider_states"][0]
    assert provider["state"] == "ok" and found["at"] - 60 < provider["last_success"] <= found["at"]
    text = page(well).text
    assert "Nothing needs attention" in text and "Sign-ins: <strong>1 succeeded, 0 failed</strong>" in text
    assert text.count('<td role="cell" data-label="App">') == 40


def test_what_is_broken_is_named_with_its_section_of_the_run_book(broken):
    """The same in JSON and on the page."""
    found = status(broken)
    expected = {
        "GatehouseReloadFailed", "GatehouseStoreUnavailable", "GatehouseProviderDown", "GatehouseUpstreamDown",
        "GatehouseSignInFailures",
    }
    assert expected <= set(sections(found))
    text = page(broken).text
    for section in expected:
        assert f"<code>{section}</code>" in text
    gone = next(one for one in found["provider_states"] if one["name"] == "gone")
    assert gone["state"] == "failing" and gone["last_failure"]["code"] == "provider.unreachable"
    assert gone["last_success"] is None and "provider.unreachable" in text


@pytest.fixture(scope="module", params=["key", "hash", "off"])
def denying(request, tmp_path_factory, provider_server, app):
    """A gateway that has denied a user by an entry of `deny`, then by no entry of `allow`; `users` names users so in access lines; "off": none."""
    folder = tmp_path_factory.mktemp("denying")
    made = {
        "wiki": {"path": "/", "upstream": app.address, "allow": "signed_in"},
        "staff": {"path": "/staff", "upstream": app.address, "allow": "signed_in", "deny": [{"user": "mock:ada"}]},
        "locked": {"path": "/locked", "upstream": app.address, "allow": [{"user": "mock:eve"}]},
    }
    realm = provider_server.realm("mock")
    with realm.fresh():
        gateway = Gateway(folder, {"mock": oidc(realm.issuer)}, made)
        lines = {"access": "off"} if request.param == "off" else {"access": "stdout", "users": request.param}
        gateway.configuration["logs"] = {"format": "json", **lines}
        with gateway:
            browser = Browser(gateway)
            assert browser.sign_in("mock", "/").status == 200
            gateway.denials = [browser.send("GET", "/locked/"), browser.send("GET", "/staff/report")]
            assert [one.status for one in gateway.denials] == [403, 403]
            gateway.users = request.param
            yield gateway


def test_the_latest_denials_name_user_rule_and_incident(denying):
    """The entry that decides by file and line; the user as access lines do, the key or its hash."""
    found = status(denying)
    jsonschema.validate(found, closed(SCHEMA))
    # The entry begins with a brace, on the line before.
    line = denying.path.read_text().splitlines().index('     "user": "mock:ada"')
    newest, older = found["denials"]
    assert (newest["app"], newest["code"]) == ("staff", "policy.denied")
    assert newest["rule"] == f"{denying.path}:{line}"
    assert (older["app"], older["code"], older["rule"]) == ("locked", "policy.refused", None)
    lines = [json.loads(one) for one in denying.log.splitlines() if '"incident"' in one and '"decision"' in one]
    logged = {one["incident"]: one for one in lines if one.get("app") in ("staff", "locked")}
    for denial in found["denials"]:
        if denying.users == "off":
            assert re.fullmatch("[A-Za-z0-9_-]{16}", denial["user"]), "a hash: the gateway names users nowhere else"
            continue
        assert logged[denial["incident"]]["user"] == denial["user"], "as the access line names the user"
        assert (denial["user"] == "mock:ada") == (denying.users == "key")
        assert found["at"] - 60 < denial["at"] <= found["at"]


def test_the_page_shows_the_latest_denials(denying):
    text = page(denying).text
    table = text[text.index('<h2 id="denials">'):text.index('<h2 id="load">')]
    for denial in status(denying)["denials"]:
        for value in (denial["app"], denial["user"], denial["code"], denial["rule"] or "–", denial["incident"]):
            assert value in table
    assert ("mock:ada" in text) == (denying.users == "key")


def test_without_denials_the_page_states_that(well):
    assert status(well)["denials"] == []
    assert "No rule has denied a user since the start." in page(well).text


class Tags(HTMLParser):
    """The tags of a page with their attributes."""
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_the_page_has_no_script_and_forbids_all(broken):
    """Text from elsewhere is text: the unknown key of the file is in the reason of the failed reload."""
    response = page(broken)
    assert "alert(1)" in status(broken)["last_reload"]["detail"] and "alert(1)" in response.text
    tags = Tags(response.text).found
    assert not {"script", "b", "style", "iframe", "form", "a"} & {tag for tag, _ in tags}
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    assert "\u202e" not in response.text
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'")
    assert response.headers["x-content-type-options"] == "nosniff" and response.headers["x-frame-options"] == "DENY"


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_the_page_is_readable_in_both_schemes_and_on_a_phone(well, broken, denying, tmp_path):
    """WCAG 2.2: contrast 4.5, one heading for each section, headers for each cell; nothing is blocked or sideways."""
    chromium = Chromium(tmp_path)
    try:
        for gateway in (well, broken, denying):
            for scheme, width in (("light", 1280), ("dark", 390), ("light", 390)):
                chromium.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 500)
                media = [{"name": "prefers-color-scheme", "value": scheme}]
                chromium.call("Emulation.setEmulatedMedia", features=media)
                chromium.go(f"http://127.0.0.1:{gateway.operations}/status")
                chromium.until("document.readyState == 'complete' && !!document.querySelector('table')", "the page")
                worst = chromium.evaluate(CONTRAST)
                assert len(worst) > 50 and worst[0][0] >= 4.5, (scheme, width, worst[:3])
                assert chromium.evaluate(f"document.documentElement.scrollWidth <= {width}"), (scheme, width)
        sizes = "[...document.querySelectorAll('svg')].map(plot => plot.getBoundingClientRect().height)"
        assert min(chromium.evaluate(sizes)) > 50
        assert chromium.evaluate("document.querySelectorAll('h1').length") == 1
        assert chromium.evaluate("[...document.querySelectorAll('section')].every(one => one.querySelector('h2'))")
        assert not chromium.errors
    finally:
        chromium.close()
