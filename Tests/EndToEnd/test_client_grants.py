# SPDX-License-Identifier: Apache-2.0
"""How clients get tokens beside the plain code flow, the session API, and tokens that are bound to keys."""

import json
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

import boto3
import jwt
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from moto.server import ThreadedMotoServer

from support.browser import Browser as PlainBrowser, forms
from support.chromium import CHROMIUM, CONTRAST, Chromium
from support.gateway import Gateway, oidc
from support.oauth_client import Client, claims
from support.proofs import EC, ED, OTHER, jwk_of, proof, thumbprint
from support.raw import request
from support.session_api import api, api_error
from support.upstream import Upstream

SECRET = "a secret of the service: 100% + more"
APP_URI, SERVICE_URI = "com.example.notes:/signed-in", "https://service.example.com/callback"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS, ID = (f"urn:ietf:params:oauth:token-type:{name}" for name in ("access_token", "id_token"))
CLOUD = "sts.amazonaws.com"


class Browser(PlainBrowser):
    """A browser with a client IP of its own: codes of devices are limited for each."""
    def __init__(self, gateway):
        super().__init__(gateway)
        self.address = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"

    def send(self, method, url, body=None, fields=None, navigates=True):
        return super().send(method, url, body, {"X-Forwarded-For": self.address, **(fields or {})}, navigates)


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


def configuration(app):
    token = {"upstream": app.address, "accept": ["session", "token"]}
    apps = {
        "wiki": {"path": "/", "allow": "signed_in", **token},
        "ledger": {"host": "ledger.localhost", "allow": "signed_in", **token},
        "staff": {"host": "staff.localhost", "allow": [{"user": "mock:unknown"}], **token},
    }
    common = {"allow": "signed_in", "audiences": ["wiki", "ledger", "staff"]}
    grants = ["authorization_code", "refresh_token", "device_code", "token_exchange"]
    clients = {
        "notes": {
            "type": "native", "name": "Notes <for> you", "redirect_uris": [APP_URI], "grants": grants,
            "token_audiences": [CLOUD], **common,
        },
        "deploy": {
            "type": "native", "redirect_uris": [APP_URI], "grants": grants, "token_audiences": [CLOUD], **common, "audiences": [],
        },
        "pushing": {"type": "native", "redirect_uris": [APP_URI], "require_par": True, **common},
        "service": {
            "type": "confidential", "secret": SECRET, "redirect_uris": [SERVICE_URI], "grants": grants,
            "token_audiences": [CLOUD], "subject": "email", **common, "audiences": ["wiki", "ledger"],
        },
        "other": {
            "type": "confidential", "secret": SECRET, "redirect_uris": [SERVICE_URI], "grants": grants, **common,
            "audiences": ["staff"],
        },
        "third": {"type": "confidential", "secret": SECRET, "redirect_uris": [SERVICE_URI], "grants": grants, **common},
        "bound": {"type": "native", "redirect_uris": [APP_URI], "dpop": True, **common},
        "strict": {"type": "native", "grants": ["device_code"], "allow": [{"user": "mock:unknown"}]},
    }
    return apps, clients


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    apps, clients = configuration(app)
    gateway = Gateway(tmp_path_factory.mktemp("grants"), providers, apps, gateway={"session_api": "/auth", "trusted_proxies": ["127.0.0.1"]})
    gateway.configuration["clients"] = clients
    with gateway:
        yield gateway


@pytest.fixture
def notes(gateway):
    return Client(gateway, "notes", APP_URI)


@pytest.fixture
def deploy(gateway):
    """A client whose tokens are for no app."""
    return Client(gateway, "deploy", APP_URI)


@pytest.fixture
def service(gateway):
    return Client(gateway, "service", SERVICE_URI, SECRET)


@pytest.fixture
def browser(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def posted(client, path, **form):
    fields, more = client.credentials()
    return client.ask("POST", path, {**more, **form}, fields)


def error(response):
    return response.status, response.json["error"]


# Pushed authorization requests


def push(client, **changes):
    """The response to the parameters of the client's authorization request."""
    query = dict(parse_qsl(urlsplit(client.url(**changes)).query))
    if client.secret is not None:
        query.pop("client_id", None)
    return posted(client, "/oauth2/par", **query)


def reference(client, uri, **more):
    query = {"client_id": client.id, "request_uri": uri, **more}
    return f"{client.gateway.origin}/oauth2/authorize?{urlencode(query)}"


def received(client, browser, url):
    """The parameters of the response to an authorization request, after consent if that is asked."""
    page = browser.visit(url, stop=client.arrives)
    if not hasattr(page, "next"):
        assert page.status == 200 and "Continue to" in page.text, page
        page = browser.submit(page, stop=client.arrives)
    return dict(parse_qsl(urlsplit(page.next).query))


def test_rfc_9126_2_2_a_pushed_request_leads_to_a_code_after_the_sign_in(notes):
    pushed = push(notes)
    assert pushed.status == 201 and set(pushed.json) == {"request_uri", "expires_in"}
    assert pushed.json["expires_in"] == 90 and pushed.get("cache-control") == "no-store"
    uri = pushed.json["request_uri"]
    assert uri.startswith("urn:ietf:params:oauth:request_uri:") and notes.state not in uri
    result = received(notes, Browser(notes.gateway), reference(notes, uri))
    assert result["state"] == notes.state
    assert claims(notes.redeem(result["code"]).json["id_token"])["nonce"] == notes.nonce


def test_rfc_9126_2_1_a_confidential_client_authenticates_to_push(service, browser):
    result = received(service, browser, reference(service, push(service).json["request_uri"]))
    assert service.redeem(result["code"]).status == 200
    service.secret = "wrong" * 8
    assert error(push(service)) == (401, "invalid_client")


@pytest.mark.parametrize("changes, code", [
    ({"request_uri": "urn:ietf:params:oauth:request_uri:x"}, "invalid_request"),
    ({"redirect_uri": "https://evil.example/"}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"resource": "https://evil.example"}, "invalid_target"),
    ({"state": "s" * 2000, "login_hint": "h" * 2000, "nonce": "n" * 2000}, "invalid_request"),
])
def test_rfc_9126_2_3_what_authorize_would_reject_is_not_stored(notes, changes, code):
    assert error(push(notes, **changes)) == (400, code)


def test_rfc_9126_7_3_a_request_uri_works_once(notes, browser):
    uri = push(notes).json["request_uri"]
    assert browser.visit(reference(notes, uri)).status == 200
    result = received(notes, browser, reference(notes, uri))
    assert result["error"] == "invalid_request_uri" and result["state"] == notes.state and "code" not in result


def test_rfc_9126_4_a_user_may_reload_the_page(notes, browser):
    page = browser.visit(reference(notes, push(notes).json["request_uri"]))
    assert browser.visit(page.url).status == 200
    assert browser.visit(page.url).status == 200


def test_e_11_rfc_9126_7_3_the_page_of_one_browser_is_not_that_of_another(notes, browser):
    """What the first browser may reload until its user has signed in is worth nothing in another."""
    page = browser.visit(reference(notes, push(notes).json["request_uri"]))
    other = Browser(notes.gateway)
    other.sign_in("mock", "/x")
    result = received(notes, other, page.url)
    assert result["error"] == "invalid_request_uri" and "code" not in result
    assert browser.visit(page.url).status == 200


def test_rfc_9126_1_a_long_request_survives_the_sign_in(notes):
    notes.state, notes.nonce = "s" * 1700, "n" * 1700
    result = received(notes, Browser(notes.gateway), reference(notes, push(notes).json["request_uri"]))
    assert result["state"] == notes.state
    assert claims(notes.redeem(result["code"]).json["id_token"])["nonce"] == notes.nonce


def test_rfc_9126_4_parameters_beside_the_reference_do_not_count(notes, browser):
    uri = push(notes).json["request_uri"]
    result = received(notes, browser, reference(notes, uri, state="other", scope="openid"))
    assert result["state"] == notes.state
    assert notes.redeem(result["code"]).json["scope"] == notes.scope


def test_rfc_9126_4_a_request_uri_is_that_of_one_client(gateway, notes, browser):
    pushing = Client(gateway, "pushing", APP_URI)
    result = received(pushing, browser, reference(pushing, push(notes).json["request_uri"]))
    assert result["error"] == "invalid_request_uri"


def test_rfc_9126_4_a_changed_request_uri_is_rejected(notes, browser):
    uri = push(notes).json["request_uri"]
    result = received(notes, browser, reference(notes, uri[:-2] + ("AA" if uri[-2:] != "AA" else "BB")))
    assert result["error"] == "invalid_request_uri"


def test_rfc_9126_6_a_client_may_have_to_push(gateway, browser):
    client = Client(gateway, "pushing", APP_URI)
    result = received(client, browser, client.url())
    assert result["error"] == "invalid_request" and "/oauth2/par" in result["error_description"]
    assert received(client, browser, reference(client, push(client).json["request_uri"]))["code"]


# Device authorization


def begin(client, **more):
    response = posted(client, "/oauth2/device_authorization", scope=client.scope, **more)
    assert response.status == 200, response.text
    return response.json


def poll(client, device):
    return client.token(grant_type=DEVICE, device_code=device["device_code"])


def test_rfc_8628_3_2_the_client_gets_two_codes_and_a_page(gateway, notes):
    device = begin(notes)
    assert set(device) == {
        "device_code", "user_code", "verification_uri", "verification_uri_complete", "expires_in", "interval"
    }
    assert device["verification_uri"] == f"{gateway.origin}/oauth2/device"
    assert device["expires_in"] == 600 and device["interval"] == 5
    letters = device["user_code"].replace("-", "")
    assert device["user_code"][4] == "-" and len(letters) == 8 and set(letters) <= set("BCDFGHJKLMNPQRSTVWXZ")


def test_rfc_8628_3_3_a_user_without_a_session_signs_in_and_confirms(gateway, notes):
    """The link leads to the sign-in, then to the page that names client, code, apps, and warns."""
    device = begin(notes)
    browser = Browser(gateway)
    page = browser.visit(device["verification_uri_complete"])
    assert page.status == 200
    for text in (device["user_code"], "Notes &lt;for&gt; you", "wiki", "ledger", "cancel"):
        assert text in page.text
    assert "<li>staff</li>" not in page.text
    done = browser.submit(page)
    assert done.status == 200 and "connected" in done.text
    tokens = poll(notes, device)
    assert tokens.status == 200 and tokens.json["refresh_token"] and tokens.get("cache-control") == "no-store"
    assert notes.call(tokens.json["access_token"]).status == 200
    assert notes.refresh(tokens.json["refresh_token"]).status == 200


def test_rfc_8628_3_3_a_user_may_type_the_code(notes, browser):
    device = begin(notes)
    page = browser.visit("/oauth2/device")
    assert forms(page)[0][0] == "GET" and "user_code" in forms(page)[0][2]
    typed = " " + device["user_code"].replace("-", " ").lower()
    page = browser.visit("/oauth2/device?" + urlencode({"user_code": typed}))
    assert page.status == 200 and device["user_code"] in page.text


@pytest.mark.one_gateway("each has limits of its own")
def test_rfc_8628_3_5_the_client_waits_and_not_too_often(notes):
    device = begin(notes)
    assert error(poll(notes, device)) == (400, "authorization_pending")
    assert error(poll(notes, device)) == (400, "slow_down")


def test_rfc_8628_3_5_the_user_may_reject_the_device(notes, browser):
    device = begin(notes)
    done = browser.submit(browser.visit(device["verification_uri_complete"]), button=1)
    assert done.status == 200 and "rejected" in done.text
    assert error(poll(notes, device)) == (400, "access_denied")


def test_rfc_8628_3_4_a_device_code_works_once(notes, browser):
    device = begin(notes)
    browser.submit(browser.visit(device["verification_uri_complete"]))
    assert poll(notes, device).status == 200
    assert error(poll(notes, device)) == (400, "invalid_grant")
    assert browser.visit(device["verification_uri_complete"]).status == 404


def test_rfc_8628_3_4_a_device_code_is_that_of_one_client(notes, service):
    assert error(poll(service, begin(notes))) == (400, "invalid_grant")
    assert error(poll(notes, {"device_code": "x"})) == (400, "invalid_grant")


def test_rfc_8628_3_1_only_a_client_with_the_grant_begins(gateway):
    client = Client(gateway, "pushing", APP_URI)
    assert error(posted(client, "/oauth2/device_authorization")) == (400, "unauthorized_client")


def test_rfc_8628_5_4_another_site_cannot_confirm(notes, browser):
    device = begin(notes)
    page = browser.visit(device["verification_uri_complete"])
    _, _, fields, _ = forms(page)[0]
    response = browser.send("POST", "/oauth2/device", {**fields, "choice": "allow"},
                            fields={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert response.status == 403
    assert error(poll(notes, device)) == (400, "authorization_pending")


def test_rfc_8628_5_4_consent_to_a_client_is_not_that_to_a_device(notes, browser):
    """A parameter of an authorization request names the code, and the form of its page is sent to the other page."""
    device = begin(notes)
    page = browser.visit(notes.url(user_code=device["user_code"]))
    _, _, fields, _ = forms(page)[0]
    assert browser.send("POST", "/oauth2/device", {**fields, "choice": "allow"}).status == 400
    assert error(poll(notes, device)) == (400, "authorization_pending")


def test_rfc_8628_3_3_a_link_alone_confirms_nothing(notes, browser):
    device = begin(notes)
    browser.visit(device["verification_uri_complete"] + "&choice=allow")
    assert error(poll(notes, device)) == (400, "authorization_pending")


def test_rfc_8628_3_3_the_rules_of_the_client_hold(gateway, browser):
    client = Client(gateway, "strict", APP_URI)
    device = begin(client)
    assert browser.visit(device["verification_uri_complete"]).status == 403
    assert error(poll(client, device)) == (400, "authorization_pending")


def test_rfc_8628_3_5_a_sign_out_before_the_tokens_ends_it(notes, browser):
    device = begin(notes)
    browser.submit(browser.visit(device["verification_uri_complete"]))
    browser.sign_out()
    assert error(poll(notes, device)) == (400, "expired_token")


def test_rfc_8628_5_1_a_client_ip_may_try_ten_codes_in_a_minute(tmp_path, provider_server, app):
    apps, clients = configuration(app)
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, apps)
    gateway.configuration["clients"] = clients
    with gateway:
        browser = PlainBrowser(gateway)
        browser.sign_in("mock", "/x")
        found = [browser.send("GET", f"/oauth2/device?user_code=BCDF-GHJ{last}").status for last in "BCDFGHJKLMN"]
    assert found == [404] * 10 + [429]


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_z_10_the_pages_of_devices_are_readable_in_dark_mode_and_on_a_phone(gateway, notes, tmp_path):
    """WCAG 2.2: text has a contrast of 4.5 in either scheme; nothing is wider than 390 px."""
    device = begin(notes)
    chromium = Chromium(tmp_path)
    try:
        chromium.call("Network.setExtraHTTPHeaders", headers={"X-Forwarded-For": "198.51.100.7"})
        chromium.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        for scheme in ("dark", "light"):
            chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for url, button in ((device["verification_uri"], "Continue"), (device["verification_uri_complete"], "Cancel")):
                chromium.go(url)
                chromium.until(
                    f"document.readyState == 'complete' && document.body.innerText.includes('{button}')", button
                )
                worst = chromium.evaluate(CONTRAST)
                assert len(worst) > 3 and worst[0][0] >= 4.5, (scheme, url, worst[:3])
                assert chromium.evaluate("document.documentElement.scrollWidth <= 390")
        chromium.click("button[value=allow]")
        chromium.until("document.body.innerText.includes('The device is connected')", "the end")
        assert chromium.errors == []
    finally:
        chromium.close()
    assert poll(notes, device).status == 200


# Token exchange


@pytest.fixture
def token(notes, browser):
    """An access token of the client `notes` for wiki and ledger."""
    return notes.sign_in(browser)["access_token"]


def exchange(client, subject, **more):
    return client.token(grant_type=EXCHANGE, subject_token=subject, subject_token_type=ACCESS, **more)


def test_rfc_8693_2_1_a_client_narrows_its_own_token(gateway, notes, token):
    ledger = f"http://ledger.localhost:{gateway.port}"
    response = exchange(notes, token, resource=ledger, scope="openid")
    assert response.status == 200, response.text
    assert set(response.json) == {"access_token", "issued_token_type", "token_type", "expires_in", "scope"}
    assert response.json["issued_token_type"] == ACCESS and response.json["token_type"] == "Bearer"
    found = notes.verified(response.json["access_token"], ledger, typ="at+jwt")
    assert found["aud"] == ledger and found["scope"] == "openid" and "act" not in found
    assert found["exp"] <= claims(token)["exp"]
    assert notes.call(response.json["access_token"], host="ledger.localhost").status == 200
    assert notes.call(response.json["access_token"]).status == 401


def test_oidc_core_5_3_userinfo_shows_what_the_narrowed_token_may(notes, token):
    narrow = exchange(notes, token, scope="openid").json["access_token"]
    assert set(notes.userinfo(narrow).json) == {"sub"}
    assert "email" in notes.userinfo(token).json


def test_rfc_8693_4_1_a_service_that_exchanges_is_the_actor(gateway, notes, service, token):
    """A service that got a token for its app asks another app for the user."""
    response = exchange(service, token, audience="ledger")
    assert response.status == 200, response.text
    ledger = f"http://ledger.localhost:{gateway.port}"
    found = service.verified(response.json["access_token"], ledger, typ="at+jwt")
    assert found["act"] == {"sub": "service"} and found["client_id"] == "service"
    assert found["sub"] == claims(token)["sub"]
    assert service.call(response.json["access_token"], host="ledger.localhost").status == 200


def test_rfc_8693_4_1_the_actors_nest(notes, service, token):
    first = exchange(service, token, audience="wiki").json["access_token"]
    again = exchange(service, first, audience="wiki").json["access_token"]
    # The same client acts once, however often it exchanges.
    assert claims(again)["act"] == {"sub": "service"}


def test_exchanged_tokens_end_with_the_grant_that_they_come_from(gateway, notes, service, token):
    """A theft that ends the grant of one client ends what others have made of its tokens."""
    mine = exchange(service, token, audience="ledger").json["access_token"]
    assert service.call(mine, host="ledger.localhost").status == 200
    assert notes.revoke(token).status == 200
    assert service.call(mine, host="ledger.localhost").status == 401


def test_e_01_a_token_that_was_exchanged_twice_ends_with_the_first(gateway, notes, service, token):
    """Also over a client that is there twice: revoked, or by a theft that the gateway has noticed."""
    third = Client(gateway, "third", SERVICE_URI, SECRET)
    second = exchange(service, token, audience="wiki").json["access_token"]
    last = exchange(third, second, audience="ledger").json["access_token"]
    assert claims(last)["act"] == {"sub": "third", "act": {"sub": "service"}}
    assert third.call(last, host="ledger.localhost").status == 200 and third.introspect(last).json["active"]
    assert notes.revoke(token).status == 200
    assert [third.call(one, host="ledger.localhost").status for one in (second, last)] == [401, 401]
    assert third.introspect(last).json == {"active": False} and third.userinfo(last).status == 401
    assert error(exchange(third, last, audience="wiki")) == (400, "invalid_request")


def test_exchanged_tokens_end_with_the_sign_in(gateway, notes, service, browser, token):
    mine = exchange(service, token, audience="ledger").json["access_token"]
    assert service.call(mine, host="ledger.localhost").status == 200
    browser.sign_out()
    assert service.call(mine, host="ledger.localhost").status == 401
    assert error(exchange(service, token, audience="ledger")) == (400, "invalid_request")


@pytest.mark.parametrize("changes, code", [
    ({"subject_token_type": ID}, "invalid_request"),
    ({"subject_token": "x.y.z"}, "invalid_request"),
    ({"actor_token": "x", "actor_token_type": ACCESS}, "invalid_request"),
    ({"requested_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "invalid_request"),
    ({"requested_token_type": ID}, "invalid_request"),
    ({"audience": "elsewhere"}, "invalid_target"),
    ({"resource": "https://evil.example"}, "invalid_target"),
    ({"audience": "staff"}, "invalid_target"),
    ({"audience": CLOUD, "resource": "http://ledger.localhost"}, "invalid_target"),
    ({"scope": "openid offline_access"}, "invalid_scope"),
])
def test_rfc_8693_2_2_2_each_wrong_parameter_has_its_error(notes, token, changes, code):
    form = {"grant_type": EXCHANGE, "subject_token": token, "subject_token_type": ACCESS} | changes
    assert error(notes.token(**form)) == (400, code)


def test_rfc_8693_2_1_a_token_for_other_apps_is_not_exchanged(gateway, token):
    client = Client(gateway, "other", SERVICE_URI, SECRET)
    assert error(exchange(client, token, audience="staff")) == (400, "invalid_request")


def test_rfc_8693_2_1_a_client_without_a_secret_exchanges_its_own_tokens_only(notes, service, browser):
    token = service.sign_in(browser)["access_token"]
    assert error(exchange(notes, token)) == (400, "invalid_request")


# Credentials of others


def test_a_token_for_a_cloud_has_its_audience_and_no_more_power_here(deploy, browser):
    token = deploy.sign_in(browser)["access_token"]
    response = exchange(deploy, token, audience=CLOUD, requested_token_type=ID)
    assert response.status == 200 and response.json["token_type"] == "N_A", response.text
    found = deploy.verified(response.json["access_token"], CLOUD)
    assert found["aud"] == CLOUD and found["sub"] == claims(token)["sub"] and "grant" not in found and "azp" not in found
    assert found["exp"] <= claims(token)["exp"]
    plain = exchange(deploy, token, audience=CLOUD).json["access_token"]
    assert deploy.verified(plain, CLOUD, typ="at+jwt")["client_id"] == "deploy"
    for text in (plain, response.json["access_token"]):
        assert deploy.call(text).status == 401 and deploy.userinfo(text).status == 401
        assert error(exchange(deploy, text)) == (400, "invalid_request")


def test_an_app_cannot_exchange_the_token_of_a_public_client_for_one_of_a_cloud(notes, token):
    """The client has no secret, so an app that gets its token could call itself the client."""
    assert error(exchange(notes, token, audience=CLOUD)) == (400, "invalid_target")


def test_an_app_cannot_exchange_the_token_of_a_public_client_for_one_of_another_app(gateway, notes, token):
    ledger = f"http://ledger.localhost:{gateway.port}"
    narrow = exchange(notes, token, audience="wiki").json["access_token"]
    assert error(exchange(notes, narrow, resource=ledger)) == (400, "invalid_target")


def test_the_subject_of_a_cloud_may_be_the_verified_email_address(gateway, service, provider_server):
    realm = provider_server.realm("mock")
    with realm.fresh():
        browser = Browser(gateway)
        browser.sign_in("mock", "/x")
        token = service.sign_in(browser)["access_token"]
        found = exchange(service, token, audience=CLOUD, requested_token_type=ID)
        assert found.status == 200, found.text
        assert claims(found.json["access_token"])["sub"] == service.userinfo(token).json["email"]


@pytest.fixture(scope="module")
def cloud():
    """moto as the token service of AWS."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_aws_sts_gives_credentials_for_an_exchanged_token(gateway, deploy, browser, cloud):
    """docs/credentials.md, AWS. moto does not verify the token, so the test does what AWS would: from issuer to key."""
    token = deploy.sign_in(browser)["access_token"]
    identity = exchange(deploy, token, audience=CLOUD, requested_token_type=ID).json["access_token"]
    assert deploy.metadata["issuer"] == claims(identity)["iss"] == gateway.origin
    assert deploy.metadata["id_token_signing_alg_values_supported"] == ["ES256"]
    found = deploy.verified(identity, CLOUD)
    client = boto3.client("sts", endpoint_url=cloud, region_name="us-east-1", config=Config(signature_version=UNSIGNED))
    role = "arn:aws:iam::123456789012:role/deploy"
    response = client.assume_role_with_web_identity(
        RoleArn=role, RoleSessionName=found["sub"].replace(":", "-"), WebIdentityToken=identity
    )
    assert response["Credentials"]["AccessKeyId"].startswith("ASIA")
    assert response["AssumedRoleUser"]["Arn"].startswith("arn:aws:sts::123456789012:assumed-role/deploy/mock-")


# The session API


@pytest.mark.parametrize("name", ["register", "login"])
def test_local_accounts_are_not_enabled(gateway, name):
    assert api_error(api(gateway, "POST", name, {"email": "ada@example.com"})) == (501, "not_enabled", "sign_in")


def test_an_app_refreshes_and_reads_its_user_by_json(gateway, notes, browser):
    tokens = notes.sign_in(browser)
    response = api(gateway, "POST", "refresh", {"refresh_token": tokens["refresh_token"]})
    assert response.status == 200 and response.get("cache-control") == "no-store"
    assert {"access_token", "refresh_token", "expires_in", "user"} <= set(response.json)
    assert response.json["refresh_token"] != tokens["refresh_token"]
    user = notes.userinfo(response.json["access_token"]).json
    assert response.json["user"] == user
    assert api(gateway, "GET", "me", token=response.json["access_token"]).json == {"user": user}
    named = {"refresh_token": response.json["refresh_token"], "client_id": "notes"}
    assert api(gateway, "POST", "refresh", named).status == 200


@pytest.mark.parametrize("by", ["access_token", "refresh_token"])
def test_an_app_logs_out_of_its_own_sign_in_only(gateway, notes, browser, by):
    mine, other = notes.sign_in(browser), notes.sign_in(browser)
    body, token = (None, mine[by]) if by == "access_token" else ({by: mine[by]}, None)
    assert api(gateway, "POST", "logout", body, token=token).json == {}
    assert api_error(api(gateway, "GET", "me", token=mine["access_token"])) == (401, "invalid_token", "sign_in")
    ended = api(gateway, "POST", "refresh", {"refresh_token": mine["refresh_token"]})
    assert api_error(ended) == (401, "session_ended", "sign_in")
    assert api(gateway, "GET", "me", token=other["access_token"]).status == 200


def test_the_session_api_is_for_public_clients(gateway, service, browser):
    tokens = service.sign_in(browser)
    for body in ({"refresh_token": tokens["refresh_token"]}, {"refresh_token": tokens["refresh_token"], "client_id": "service"}):
        assert api_error(api(gateway, "POST", "refresh", body)) == (401, "session_ended", "sign_in")
    assert api_error(api(gateway, "GET", "me", token=tokens["access_token"])) == (401, "invalid_token", "sign_in")


def test_rfc_9700_4_14_2_a_reused_refresh_token_ends_the_sign_in(gateway, notes, browser):
    tokens = notes.sign_in(browser)
    first = api(gateway, "POST", "refresh", {"refresh_token": tokens["refresh_token"]}).json
    second = api(gateway, "POST", "refresh", {"refresh_token": first["refresh_token"]}).json
    reused = api(gateway, "POST", "refresh", {"refresh_token": tokens["refresh_token"]})
    assert api_error(reused) == (401, "session_ended", "sign_in")
    assert api(gateway, "GET", "me", token=second["access_token"]).status == 401


@pytest.mark.parametrize("raw", [
    b'{"refresh_token": "a", "refresh_token": "b"}', b"refresh_token=a", b"[]", b'{"refresh_token": 1}', b"{}",
    b'{"refresh_token": {"a": {"b": {}}}}', b'{"refresh_token": "a"} x', b'{"refresh_token": "\xff"}',
])
def test_what_is_not_json_object_of_texts_is_rejected(gateway, raw):
    assert api_error(api(gateway, "POST", "refresh", raw=raw)) == (400, "invalid_request", "correct_request")


def test_requests_to_the_session_api_are_counted_by_client(gateway, notes, browser):
    series = 'gatehouse_client_requests_total{client="%s",endpoint="session_api",result="%s"}'
    known, unknown = series % ("notes", "ok"), series % ("unknown", "invalid_token")
    before = gateway.metrics()
    assert api(gateway, "GET", "me", token=notes.sign_in(browser)["access_token"]).status == 200
    assert api(gateway, "GET", "me", token="x").status == 401
    after = gateway.metrics()
    assert [after[name] - before.get(name, 0) for name in (known, unknown)] == [1, 1]


def test_a_form_is_not_json_and_a_large_body_is_rejected(gateway):
    form = api(gateway, "POST", "refresh", raw=b'{"refresh_token": "a"}', content="text/plain")
    assert api_error(form) == (400, "invalid_request", "correct_request")
    assert api(gateway, "POST", "refresh", {"refresh_token": "a" * 17_000}).status == 413


def test_the_session_api_has_its_methods_and_no_more_paths(gateway):
    assert api_error(api(gateway, "GET", "refresh")) == (405, "method_not_allowed", "correct_request")
    assert api_error(api(gateway, "POST", "token", {})) == (404, "not_found", "correct_request")
    assert api_error(api(gateway, "POST", "refresh/x", {})) == (404, "not_found", "correct_request")
    preflight = api(gateway, "OPTIONS", "me")
    assert preflight.status == 204 and "GET" in preflight.get("access-control-allow-methods")


def test_paths_beside_the_session_api_are_those_of_the_app(gateway, browser):
    assert browser.send("GET", "/authors").status == 200
    assert request(gateway.port, "/auth/me", host="ledger.localhost").status == 401


# Proofs of keys


class BoundClient(Client):
    """A client that proves to have a key wherever it sends a token."""
    key = EC

    def token(self, proves=True, key=None, changes=None, **form):
        fields, more = self.credentials()
        if proves:
            url = f"{self.gateway.origin}/oauth2/token"
            fields = [*fields, ("DPoP", proof(key or self.key, "POST", url, **(changes or {})))]
        return self.ask("POST", "/oauth2/token", {**more, **form}, fields)

    def bound_call(self, token, path="/x", host=None, key=None, sent=None, scheme="DPoP", **changes):
        origin = f"http://{host or self.gateway.host}:{self.gateway.port}"
        sent = sent or proof(key or self.key, "GET", origin + path, token, **changes)
        fields = [("Authorization", f"{scheme} {token}"), ("DPoP", sent)]
        return request(self.gateway.port, path, host=host or self.gateway.host, fields=fields)


@pytest.fixture
def bound(gateway):
    return BoundClient(gateway, "notes", APP_URI)


@pytest.mark.parametrize("key", [EC, ED], ids=["ES256", "EdDSA"])
def test_rfc_9449_5_tokens_are_bound_to_the_key_of_the_proof(bound, browser, app, key):
    bound.key = key
    tokens = bound.sign_in(browser)
    assert tokens["token_type"] == "DPoP" and claims(tokens["access_token"])["cnf"] == {"jkt": thumbprint(key)}
    assert bound.bound_call(tokens["access_token"]).status == 200
    assert bound.bound_call(tokens["access_token"], "/x?a=1", htu=f"{bound.gateway.origin}/x").status == 200
    assert "authorization" not in {name.lower() for name, _ in app.requests[-1].fields}
    refreshed = bound.refresh(tokens["refresh_token"])
    assert refreshed.status == 200 and refreshed.json["token_type"] == "DPoP"


def test_rfc_9449_6_2_introspection_names_the_key(gateway, browser):
    service = BoundClient(gateway, "service", SERVICE_URI, SECRET)
    found = service.introspect(service.sign_in(browser)["access_token"]).json
    assert found["active"] and found["token_type"] == "DPoP" and found["cnf"] == {"jkt": thumbprint(EC)}


def test_rfc_9449_5_a_client_with_a_secret_may_change_its_key(gateway, browser):
    service = BoundClient(gateway, "service", SERVICE_URI, SECRET)
    tokens = service.sign_in(browser)
    other = service.refresh(tokens["refresh_token"], key=OTHER)
    assert other.status == 200 and claims(other.json["access_token"])["cnf"] == {"jkt": thumbprint(OTHER)}


def test_rfc_9449_5_an_exchanged_token_is_bound_to_the_same_key(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    form = {"grant_type": EXCHANGE, "subject_token": token, "subject_token_type": ACCESS}
    assert error(bound.token(**form, key=OTHER)) == (400, "invalid_request")
    assert error(bound.token(**form, proves=False)) == (400, "invalid_request")
    narrow = bound.token(**form, audience="ledger")
    assert narrow.json["token_type"] == "DPoP"
    assert bound.bound_call(narrow.json["access_token"], host="ledger.localhost").status == 200


def test_rfc_9449_7_1_a_bound_token_is_not_a_bearer_token(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    assert bound.call(token).status == 401
    assert bound.bound_call(token, scheme="Bearer").status == 401
    assert bound.userinfo(token).status == 401


def test_rfc_9449_7_1_a_bearer_token_is_not_a_bound_token(bound, notes, browser):
    token = notes.sign_in(browser)["access_token"]
    assert bound.bound_call(token).status == 401


@pytest.mark.one_gateway("each remembers the proofs that it has seen")
def test_rfc_9449_11_1_a_proof_works_once(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    sent = proof(EC, "GET", f"{bound.gateway.origin}/x", token)
    assert [bound.bound_call(token, sent=sent).status for _ in range(2)] == [200, 401]


@pytest.mark.parametrize("changes", [
    {"htm": "POST"}, {"htu": "http://evil.example/x"}, {"ath": "x"}, {"ath": None}, {"jti": None}, {"jti": "j" * 257},
    {"iat": 1_000_000}, {"ahead": 3600}, {"iat": None}, {"key": OTHER}, {"header": {"typ": "JWT"}},
    {"header": {"jwk": jwk_of(OTHER)}}, {"header": {"jwk": {**jwk_of(EC), "d": "AA"}}}, {"header": {"crit": ["x"]}},
    {"sent": "x.y.z"},
], ids=["htm", "htu", "ath", "no ath", "no jti", "jti", "old", "ahead", "no iat", "key", "typ", "jwk", "private", "crit", "form"])
def test_rfc_9449_4_3_each_wrong_proof_is_rejected(bound, browser, changes):
    token = bound.sign_in(browser)["access_token"]
    assert bound.bound_call(token, **changes).status == 401
    assert bound.bound_call(token).status == 200


def test_e_11_rfc_9449_7_1_the_challenge_after_a_wrong_proof_has_an_error(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    for changes in ({"htu": "http://evil.example/x"}, {"key": OTHER}, {"sent": "x"}):
        challenges = bound.bound_call(token, **changes).all("www-authenticate")
        assert 'DPoP algs="ES256 EdDSA", error="invalid_token"' in challenges
        assert not any(value.startswith("Bearer") and "error=" in value for value in challenges)


def test_e_11_rfc_9449_4_3_htu_may_be_spelled_in_any_way(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    host, port = bound.gateway.host, bound.gateway.port
    for htu in (f"HTTP://{host.upper()}:{port}/x", f"http://{host}:{port}/%78", f"http://{host}:{port}/a/../x"):
        assert bound.bound_call(token, htu=htu).status == 200, htu


def test_rfc_9449_5_a_refresh_token_of_a_public_client_is_bound(bound, browser):
    token = bound.sign_in(browser)["refresh_token"]
    assert error(bound.refresh(token, key=OTHER)) == (400, "invalid_grant")
    assert error(bound.refresh(token, proves=False)) == (400, "invalid_dpop_proof")
    assert bound.refresh(token).status == 200


def test_rfc_9449_10_a_code_may_be_bound_to_a_key(bound, browser):
    result = bound.authorize(browser, dpop_jkt=thumbprint(EC))
    assert error(bound.redeem(result["code"], key=OTHER)) == (400, "invalid_grant")
    assert error(bound.redeem(result["code"], proves=False)) == (400, "invalid_grant")
    assert bound.redeem(result["code"]).status == 200


def test_rfc_9449_10_1_a_proof_beside_a_pushed_request_binds_its_code(bound, browser):
    query = dict(parse_qsl(urlsplit(bound.url()).query))
    sent = proof(EC, "POST", f"{bound.gateway.origin}/oauth2/par")
    pushed = bound.ask("POST", "/oauth2/par", query, [("DPoP", sent)])
    result = received(bound, browser, reference(bound, pushed.json["request_uri"]))
    assert error(bound.redeem(result["code"], key=OTHER)) == (400, "invalid_grant")
    assert bound.redeem(result["code"]).status == 200


def test_rfc_9449_5_a_client_may_have_to_prove_a_key(gateway, browser):
    client = BoundClient(gateway, "bound", APP_URI)
    result = client.authorize(browser)
    assert error(client.redeem(result["code"], proves=False)) == (400, "invalid_dpop_proof")
    assert client.redeem(result["code"]).json["token_type"] == "DPoP"


@pytest.mark.one_gateway("each remembers the proofs that it has seen")
def test_rfc_9449_7_userinfo_and_the_session_api_take_bound_tokens(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    for path, rejected in (("/oauth2/userinfo", 401), ("/auth/me", 400)):
        sent = proof(EC, "GET", f"{bound.gateway.origin}{path}", token)
        fields = [("Authorization", f"DPoP {token}"), ("DPoP", sent)]
        assert bound.ask("GET", path, fields=fields).status == 200
        assert bound.ask("GET", path, fields=fields).status == rejected


def test_rfc_9449_4_3_two_proofs_are_rejected(bound, browser):
    token = bound.sign_in(browser)["access_token"]
    one, two = (proof(EC, "GET", f"{bound.gateway.origin}/x", token) for _ in range(2))
    fields = [("Authorization", f"DPoP {token}"), ("DPoP", one), ("DPoP", two)]
    assert request(bound.gateway.port, "/x", host=bound.gateway.host, fields=fields).status == 401


def test_rfc_9449_5_1_the_metadata_names_the_algorithms(notes):
    assert notes.metadata["dpop_signing_alg_values_supported"] == ["ES256", "EdDSA"]
