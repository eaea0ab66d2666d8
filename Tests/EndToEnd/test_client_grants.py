# SPDX-License-Identifier: Apache-2.0
"""How clients get tokens beside the plain code flow: pushed requests, other devices, exchanged tokens."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from moto.server import ThreadedMotoServer

from support.browser import Browser, forms
from support.gateway import Gateway, oidc
from support.oauth_client import Client, claims
from support.upstream import Upstream

SECRET = "a secret of the service: 100% + more"
APP_URI, SERVICE_URI = "com.example.notes:/signed-in", "https://service.example.com/callback"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS, ID = (f"urn:ietf:params:oauth:token-type:{name}" for name in ("access_token", "id_token"))
CLOUD = "sts.amazonaws.com"


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


def configuration(app):
    token = {"upstream": app.address, "accept": ["session", "token"]}
    apps = {
        "wiki": {"path": "/", "allow": "signed_in", **token},
        "ledger": {"host": "ledger.localhost", "allow": "signed_in", **token},
        "staff": {"host": "staff.localhost", "allow": [{"user": "mock:nobody"}], **token},
    }
    common = {"allow": "signed_in", "audiences": ["wiki", "ledger", "staff"]}
    grants = ["authorization_code", "refresh_token", "device_code", "token_exchange"]
    clients = {
        "notes": {
            "type": "native", "name": "Notes <for> you", "redirect_uris": [APP_URI], "grants": grants,
            "token_audiences": [CLOUD], **common,
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
        "strict": {"type": "native", "grants": ["device_code"], "allow": [{"user": "mock:nobody"}]},
    }
    return apps, clients


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    apps, clients = configuration(app)
    gateway = Gateway(tmp_path_factory.mktemp("grants"), providers, apps)
    gateway.configuration["clients"] = clients
    with gateway:
        yield gateway


@pytest.fixture
def notes(gateway):
    return Client(gateway, "notes", APP_URI)


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
    answer = received(notes, Browser(notes.gateway), reference(notes, uri))
    assert answer["state"] == notes.state
    assert claims(notes.redeem(answer["code"]).json["id_token"])["nonce"] == notes.nonce


def test_rfc_9126_2_1_a_confidential_client_authenticates_to_push(service, browser):
    answer = received(service, browser, reference(service, push(service).json["request_uri"]))
    assert service.redeem(answer["code"]).status == 200
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
    answer = received(notes, browser, reference(notes, uri))
    assert answer["error"] == "invalid_request_uri" and answer["state"] == notes.state and "code" not in answer


def test_rfc_9126_4_a_user_may_reload_the_page(notes, browser):
    page = browser.visit(reference(notes, push(notes).json["request_uri"]))
    assert browser.visit(page.url).status == 200
    assert browser.visit(page.url).status == 200


def test_rfc_9126_4_parameters_beside_the_reference_do_not_count(notes, browser):
    uri = push(notes).json["request_uri"]
    answer = received(notes, browser, reference(notes, uri, state="other", scope="openid"))
    assert answer["state"] == notes.state
    assert notes.redeem(answer["code"]).json["scope"] == notes.scope


def test_rfc_9126_4_a_request_uri_is_that_of_one_client(gateway, notes, browser):
    pushing = Client(gateway, "pushing", APP_URI)
    answer = received(pushing, browser, reference(pushing, push(notes).json["request_uri"]))
    assert answer["error"] == "invalid_request_uri"


def test_rfc_9126_4_a_changed_request_uri_is_rejected(notes, browser):
    uri = push(notes).json["request_uri"]
    answer = received(notes, browser, reference(notes, uri[:-2] + ("AA" if uri[-2:] != "AA" else "BB")))
    assert answer["error"] == "invalid_request_uri"


def test_rfc_9126_6_a_client_may_have_to_push(gateway, browser):
    client = Client(gateway, "pushing", APP_URI)
    answer = received(client, browser, client.url())
    assert answer["error"] == "invalid_request" and "/oauth2/par" in answer["error_description"]
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
        browser = Browser(gateway)
        browser.sign_in("mock", "/x")
        found = [browser.send("GET", f"/oauth2/device?user_code=BCDF-GHJ{last}").status for last in "BCDFGHJKLMN"]
    assert found == [404] * 10 + [429]


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
    assert found["sub"] == claims(token)["sub"] and found["sid"] == claims(token)["sid"]
    assert service.call(response.json["access_token"], host="ledger.localhost").status == 200


def test_rfc_8693_4_1_the_actors_nest(notes, service, token):
    first = exchange(service, token, audience="wiki").json["access_token"]
    again = exchange(service, first, audience="wiki").json["access_token"]
    # The same client acts once, however often it exchanges.
    assert claims(again)["act"] == {"sub": "service"}


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


def test_a_token_for_a_cloud_has_its_audience_and_no_more_power_here(gateway, notes, token):
    response = exchange(notes, token, audience=CLOUD, requested_token_type=ID)
    assert response.status == 200 and response.json["token_type"] == "N_A", response.text
    found = notes.verified(response.json["access_token"], CLOUD)
    assert found["aud"] == CLOUD and found["sub"] == claims(token)["sub"] and "grant" not in found and "azp" not in found
    assert found["exp"] <= claims(token)["exp"]
    plain = exchange(notes, token, audience=CLOUD).json["access_token"]
    assert notes.verified(plain, CLOUD, typ="at+jwt")["client_id"] == "notes"
    for text in (plain, response.json["access_token"]):
        assert notes.call(text).status == 401 and notes.userinfo(text).status == 401
        assert error(exchange(notes, text)) == (400, "invalid_request")


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


def test_aws_sts_gives_credentials_for_an_exchanged_token(gateway, notes, token, cloud):
    """docs/credentials.md, AWS. moto does not verify the token, so the test does what AWS would: from issuer to key."""
    identity = exchange(notes, token, audience=CLOUD, requested_token_type=ID).json["access_token"]
    assert notes.metadata["issuer"] == claims(identity)["iss"] == gateway.origin
    assert notes.metadata["id_token_signing_alg_values_supported"] == ["ES256"]
    found = notes.verified(identity, CLOUD)
    client = boto3.client("sts", endpoint_url=cloud, region_name="us-east-1", config=Config(signature_version=UNSIGNED))
    role = "arn:aws:iam::123456789012:role/deploy"
    response = client.assume_role_with_web_identity(
        RoleArn=role, RoleSessionName=found["sub"].replace(":", "-"), WebIdentityToken=identity
    )
    assert response["Credentials"]["AccessKeyId"].startswith("ASIA")
    assert response["AssumedRoleUser"]["Arn"].startswith("arn:aws:sts::123456789012:assumed-role/deploy/mock-")
