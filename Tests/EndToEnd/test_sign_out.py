# SPDX-License-Identifier: Apache-2.0
"""Sign-out: everywhere, and by the provider through the back channel and the front channel.

The rows of the logout plans of the OpenID Foundation's conformance suite for relying parties are named by their ids.
"""

import json
import threading
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from support.browser import Browser, forms
from support.gateway import ENVIRONMENT, NO_LIMITS, Gateway, oidc
from support.processes import eventually
from support.provider import SHARED_KEYS, basic
from support.raw import request
from support.tokens import EVENT, Key, logout_claims, logout_token, now, token
from support.upstream import Upstream

EVERYWHERE = {"sessions": "all"}
# Has the name of the provider's key.
FOREIGN = Key("rsa")


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server):
    """One gateway with two providers; its app is at `/` of the gateway's host and of `own.localhost`."""
    app = Upstream()
    realms = {name: provider_server.realm(f"sign-out-{name}") for name in ("staff", "guests")}
    entry = {"path": "/", "upstream": app.address, "allow": "signed_in"}
    apps = {"echo": entry, "own": {"host": "own.localhost", "providers": ["staff"], **entry}}
    providers = {name: oidc(realm.issuer) for name, realm in realms.items()}
    with Gateway(tmp_path_factory.mktemp("out"), providers, apps, sessions={"store": "memory:"}) as gateway:
        gateway.realms = realms
        yield gateway
    app.close()


@pytest.fixture
def staff(own_gateway):
    """The realm of the provider `staff`, which can end sessions at its end-session endpoint."""
    with own_gateway.realms["staff"].fresh() as realm:
        realm.metadata = {
            "end_session_endpoint": f"{realm.issuer}/logout", "backchannel_logout_supported": True,
            "backchannel_logout_session_supported": True, "frontchannel_logout_supported": True,
        }
        yield realm


@pytest.fixture
def sign_in(own_gateway, staff):
    """Signs a user in with a new browser."""
    def enter(sub="ada", sid=None, provider="staff", path="/x"):
        realm = own_gateway.realms[provider]
        realm.user = {**realm.user, "sub": sub, "email": f"{sub}@example.com", **({"sid": sid} if sid else {})}
        if not sid:
            realm.user.pop("sid", None)
        browser = Browser(own_gateway)
        assert browser.sign_in(provider, path).status == 200, browser.history
        return browser

    return enter


def is_signed_in(gateway, browser, ticket=None):
    """Whether the app responds to the ticket, asked over several connections, so at both event loops."""
    ticket = ticket or browser.ticket()
    statuses = {request(gateway.port, "/x", fields=[("Cookie", f"gatehouse={ticket}")]).status for _ in range(6)}
    assert len(statuses) == 1, statuses
    return statuses == {200}


def post(gateway, body, provider="staff"):
    """What a provider's server gets for a posted body."""
    fields = [("Content-Type", "application/x-www-form-urlencoded")] + ([] if body else [("Content-Length", "0")])
    path = f"/oauth2/backchannel-logout/{provider}"
    return request(gateway.port, path, method="POST", fields=fields, body=body.encode())


def back_channel(gateway, text, provider="staff"):
    return post(gateway, urlencode({"logout_token": text}), provider)


# Sign-out everywhere


def test_a_sign_out_everywhere_ends_all_sessions_of_the_user_on_all_hosts(own_gateway, sign_in):
    """A-13 K-09: with the second button of the page; another user, also one of another provider, stays signed in."""
    here, there = sign_in(), sign_in()
    origin = f"http://own.localhost:{own_gateway.port}"
    assert there.visit(f"{origin}/x").status == 200
    others = [sign_in("eve"), sign_in(provider="guests")]
    tickets = [here.ticket(), there.ticket()]
    page = here.send("GET", "/oauth2/sign_out")
    assert [name for name, _ in forms(page)[0][3]] == ["", "sessions"]
    response = here.submit(page, button=1, stop=lambda url: "/logout?" in url)
    assert response.next.startswith(own_gateway.realms["staff"].issuer + "/logout?id_token_hint=")
    state = parse_qs(urlsplit(response.next).query)["state"][0]
    back = here.send("GET", "/oauth2/sign_out?" + urlencode({"state": state}))
    assert "All your other sessions here have ended" in back.text
    assert not any(is_signed_in(own_gateway, None, ticket) for ticket in tickets)
    own = there.ticket("own.localhost")
    cookie = [("Cookie", f"gatehouse={own}")]
    assert request(own_gateway.port, "/x", host="own.localhost", fields=cookie).status == 401
    assert all(is_signed_in(own_gateway, other) for other in others)
    line = [line for line in own_gateway.log.splitlines() if "signed out" in line and "others" in line][-1]
    assert "staff:ada" in line


def test_another_site_cannot_sign_a_user_out_everywhere(own_gateway, sign_in):
    here, there = sign_in(), sign_in()
    foreign = here.send(
        "POST", "/oauth2/sign_out", body=EVERYWHERE, fields={"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    )
    assert foreign.status == 403
    assert here.send("GET", "/oauth2/sign_out?sessions=all").status == 200
    assert is_signed_in(own_gateway, here) and is_signed_in(own_gateway, there)


def test_the_field_counts_in_the_form_only(own_gateway, sign_in):
    here, there = sign_in(), sign_in()
    ticket = here.ticket()
    here.send("POST", "/oauth2/sign_out?sessions=all", body={})
    assert not is_signed_in(own_gateway, None, ticket) and is_signed_in(own_gateway, there)


# Sign-out at the provider: rp-init-logout


def signed_out(browser):
    """The parameters that the browser takes to the provider."""
    location = browser.sign_out().get("location")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def test_rp_init_logout(own_gateway, staff, sign_in):
    """The provider gets the ID token, a registered URL and a state; the session here has ended before."""
    browser = sign_in()
    ticket = browser.ticket()
    sent = signed_out(browser)
    assert sent["id_token_hint"].count(".") == 2 and sent["client_id"] == "gatehouse"
    assert sent["post_logout_redirect_uri"] == f"{own_gateway.origin}/oauth2/sign_out"
    assert not is_signed_in(own_gateway, None, ticket)
    page = browser.send("GET", "/oauth2/sign_out?" + urlencode({"state": sent["state"]}))
    assert page.status == 200 and "as well" in page.text and "other sessions" not in page.text


@pytest.mark.parametrize("state", ["", "x", "http://evil.example/", None])
def test_rp_init_logout_other_state_and_no_state(state, own_gateway, sign_in):
    """rp-init-logout-other-state, rp-init-logout-no-state: the user is signed out; the return leads nowhere."""
    browser = sign_in()
    ticket = browser.ticket()
    signed_out(browser)
    query = "" if state is None else "?" + urlencode({"state": state})
    page = browser.send("GET", f"/oauth2/sign_out{query}")
    assert page.status == 200 and "You may still be signed in" in page.text and "evil" not in page.text
    assert not is_signed_in(own_gateway, None, ticket)


def after_provider(own_gateway, response):
    """The URL that the provider sends the browser back to."""
    state = parse_qs(urlsplit(response.get("location")).query)["state"][0]
    return f"{own_gateway.origin}/oauth2/sign_out?" + urlencode({"state": state})


def test_w_03_the_return_from_the_provider_leads_to_the_host_of_the_sign_out(own_gateway, staff, sign_in):
    """W-03: to the place that the sign-out named, or to the page there."""
    origin = f"http://own.localhost:{own_gateway.port}"
    browser = sign_in()
    assert browser.visit(f"{origin}/x").status == 200
    back = after_provider(own_gateway, browser.sign_out("/bye", origin))
    assert browser.visit(back, stop=lambda url: url.endswith("/bye")).next == f"{origin}/bye"
    browser.cookies = {}
    browser.sign_in("staff", "/x")
    assert browser.visit(f"{origin}/x").status == 200
    page = browser.visit(after_provider(own_gateway, browser.sign_out("/", origin)))
    assert page.status == 200 and page.url.startswith(f"{origin}/oauth2/sign_out?") and "as well" in page.text


@pytest.mark.parametrize("host", ["", "own.localhost"])
def test_w_03_the_state_of_one_browser_leads_no_other_one_anywhere(host, own_gateway, staff, sign_in):
    """W-03: a link with a state that is valid shows another browser the plain page at the gateway's host."""
    origin = f"http://{host}:{own_gateway.port}" if host else own_gateway.origin
    browser = sign_in()
    assert browser.visit(f"{origin}/x").status == 200
    link = after_provider(own_gateway, browser.sign_out("/bye", origin))
    victim = Browser(own_gateway)
    page = victim.visit(link)
    assert page.status == 200 and page.url == (f"{own_gateway.origin}/oauth2/sign_out" if host else link)
    assert "You may still be signed in" in page.text
    assert all("/oauth2/sign_out" in url for _, url, _ in victim.history)


# Back channel


def test_rp_backchannel_rpinitlogout(own_gateway, staff, sign_in):
    """The user signs out with one browser; through the provider's logout token the others are signed out as well."""
    leaving, staying, eve = sign_in(), sign_in(), sign_in("eve")
    tickets = [staying.ticket()]
    leaving.sign_out()
    response = back_channel(own_gateway, logout_token(staff))
    assert response.status == 200 and response.body == b"" and response.get("cache-control") == "no-store"
    assert not is_signed_in(own_gateway, None, tickets[0])
    assert is_signed_in(own_gateway, eve)
    line = [line for line in own_gateway.log.splitlines() if "back-channel logout" in line][-1]
    assert "staff" in line and "ada" in line
    assert own_gateway.metric('gatehouse_provider_logouts_total{provider="staff",channel="back",result="ok"}') >= 1


def test_a_logout_token_with_sid_ends_that_session_on_all_hosts(own_gateway, staff, sign_in):
    first, second = sign_in(sid="s-1"), sign_in(sid="s-2")
    assert first.visit(f"http://own.localhost:{own_gateway.port}/x").status == 200
    own = first.ticket("own.localhost")
    assert back_channel(own_gateway, logout_token(staff, sub=None, sid="s-1")).status == 200
    assert not is_signed_in(own_gateway, first)
    cookie = [("Cookie", f"gatehouse={own}")]
    assert request(own_gateway.port, "/x", host="own.localhost", fields=cookie).status == 401
    assert is_signed_in(own_gateway, second)
    # With both, both must match.
    assert back_channel(own_gateway, logout_token(staff, sub="eve", sid="s-2")).status == 200
    assert is_signed_in(own_gateway, second)
    assert back_channel(own_gateway, logout_token(staff, sub="ada", sid="s-2")).status == 200
    assert not is_signed_in(own_gateway, second)


def test_a_logout_token_with_sub_and_sid_ends_sessions_of_unknown_origin(own_gateway, staff, sign_in):
    """Those of the user whose ID tokens had no `sid` may come from the session that the token names."""
    unknown, other, eve = sign_in(), sign_in(sid="s-8"), sign_in("eve")
    assert back_channel(own_gateway, logout_token(staff, sid="s-7")).status == 200
    assert not is_signed_in(own_gateway, unknown)
    assert is_signed_in(own_gateway, other) and is_signed_in(own_gateway, eve)


LOGOUTS = {"sub": {}, "sid": {"sub": None, "sid": "s-9"}, "both": {"sid": "s-9"}}


@pytest.mark.parametrize("name", LOGOUTS)
def test_a_logout_ends_a_sign_in_that_is_in_progress(name, own_gateway, staff, sign_in):
    """It arrives while the gateway redeems the code; the next sign-in, in the same second, is a new one."""
    posted = []

    def logout(response):
        posted.append(back_channel(own_gateway, logout_token(staff, **LOGOUTS[name])).status)
        return response

    staff.token_response = logout
    staff.user = {**staff.user, "sid": "s-9"}
    browser = Browser(own_gateway)
    page = browser.sign_in("staff", "/x")
    assert posted == [200] and page.status == 403 and "signin.signed_out" in page.text, page
    assert browser.ticket() is None
    staff.token_response = lambda response: response
    assert is_signed_in(own_gateway, sign_in(sid="s-9"))


def test_a_sign_out_everywhere_ends_a_sign_in_that_is_in_progress(own_gateway, staff, sign_in):
    here, eve = sign_in(), sign_in("eve")
    staff.user = {**staff.user, "sub": "ada"}

    def sign_out(response):
        here.send("POST", "/oauth2/sign_out", body=EVERYWHERE)
        return response

    staff.token_response = sign_out
    there = Browser(own_gateway)
    assert there.sign_in("staff", "/x").status == 403 and there.ticket() is None
    assert is_signed_in(own_gateway, eve)


def unsigned(realm):
    return token(realm.key, logout_claims(realm), {"alg": "none", "typ": "logout+jwt"}, signature=b"")


REJECTED = {
    "rp-backchannel-rpinitlogout-lt-alg-none":
        unsigned,
    "rp-backchannel-rpinitlogout-lt-wrong-alg":
        lambda realm: token(realm.key, logout_claims(realm), {"alg": "HS256"}, algorithm="HS256"),
    "rp-backchannel-rpinitlogout-lt-wrong-issuer":
        lambda realm: logout_token(realm, iss="https://evil.example"),
    "rp-backchannel-rpinitlogout-lt-wrong-aud":
        lambda realm: logout_token(realm, aud="another"),
    "rp-backchannel-rpinitlogout-lt-no-event":
        lambda realm: logout_token(realm, events=None),
    "rp-backchannel-rpinitlogout-lt-wrong-event":
        lambda realm: logout_token(realm, events={"http://schemas.openid.net/event/other": {}}),
    "rp-backchannel-rpinitlogout-lt-with-nonce":
        lambda realm: logout_token(realm, nonce="n"),
    "event that is not an object":
        lambda realm: logout_token(realm, events={EVENT: "{}"}),
    "no jti":
        lambda realm: logout_token(realm, jti=None),
    "no iat":
        lambda realm: logout_token(realm, iat=None),
    "old iat":
        lambda realm: logout_token(realm, iat=now() - 3600, exp=None),
    "expired":
        lambda realm: logout_token(realm, exp=now() - 120),
    "neither sub nor sid":
        lambda realm: logout_token(realm, sub=None),
    "sub that is a list":
        lambda realm: logout_token(realm, sub=["ada"]),
    "T-42 type of an access token":
        lambda realm: logout_token(realm, {"typ": "at+jwt"}),
    "T-42 an ID token":
        lambda realm: token(realm.key, {**logout_claims(realm, events=None), "nonce": "n"}),
    "key of another":
        lambda realm: logout_token(realm, key=FOREIGN),
    "T-36 crit":
        lambda realm: logout_token(realm, {"crit": ["exp"]}),
    "T-37 issuer twice":
        lambda realm: token(realm.key, '{"iss": "x", ' + json.dumps(logout_claims(realm))[1:]),
    "T-40 text":
        lambda realm: "nonsense",
    "T-44 a list":
        lambda realm: token(realm.key, "[]"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_an_invalid_logout_token_is_400_and_ends_nothing(name, own_gateway, staff, sign_in):
    """OpenID Connect Back-Channel Logout §2.6, §2.8."""
    browser = sign_in()
    response = back_channel(own_gateway, REJECTED[name](staff))
    assert response.status == 400 and response.json["error"] == "logout.token", response
    assert response.get("cache-control") == "no-store" and response.get("content-type") == "application/json"
    assert is_signed_in(own_gateway, browser)


def test_a_logout_token_works_once(own_gateway, staff, sign_in):
    """A session that began after it is not ended by a replay."""
    text = logout_token(staff)
    sign_in()
    assert back_channel(own_gateway, text).status == 200
    browser = sign_in()
    replay = back_channel(own_gateway, text)
    assert replay.status == 400 and replay.json["error"] == "logout.replayed"
    assert is_signed_in(own_gateway, browser)


@pytest.mark.parametrize("header", [{"typ": "logout+jwt"}, {"typ": "application/logout+jwt"}, {"typ": "JWT"}, {"typ": None}])
def test_the_type_of_a_logout_token_may_be_general_or_absent(header, own_gateway, staff, sign_in):
    """T-42: the specification recommends `logout+jwt` and requires none."""
    browser = sign_in()
    key = staff.key
    head = {name: value for name, value in {"alg": key.kind, "kid": key.kid, **header}.items() if value}
    text = token(key, logout_claims(staff, exp=None), json.dumps(head))
    assert back_channel(own_gateway, text).status == 200
    assert not is_signed_in(own_gateway, browser)


def test_t_42_a_logout_token_signs_no_user_in(own_gateway, staff):
    """In the place of the ID token, with its nonce."""
    staff.claims = lambda claims: {**claims, "events": {EVENT: {}}, "jti": "j"}
    browser = Browser(own_gateway)
    response = browser.send("GET", browser.authorize(browser.begin("staff")))
    assert response.status == 502 and browser.ticket() is None


def test_a_provider_ends_only_sessions_of_its_own_users(own_gateway, staff, sign_in):
    """The token of one provider at the endpoint of the other, and its subject at its own endpoint."""
    guest, ada = sign_in(provider="guests"), sign_in()
    assert back_channel(own_gateway, logout_token(staff), "guests").status == 400
    assert back_channel(own_gateway, logout_token(own_gateway.realms["guests"]), "guests").status == 200
    assert not is_signed_in(own_gateway, guest) and is_signed_in(own_gateway, ada)
    assert back_channel(own_gateway, logout_token(staff), "unknown").status == 404


@pytest.mark.parametrize("body", ["", "logout_token=", "logout_token=a&logout_token=b", "token=a", "logout_token=%zz"])
def test_a_body_without_exactly_one_token_is_400(body, own_gateway, staff):
    response = post(own_gateway, body)
    assert response.status == 400 and response.json["error"].startswith("logout."), response


def test_the_body_of_a_logout_is_bounded(own_gateway, staff):
    """K-10."""
    assert post(own_gateway, "logout_token=" + "a" * 16_371).status == 400
    assert post(own_gateway, "logout_token=" + "a" * 16_372).status == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_405(method, own_gateway):
    response = request(own_gateway.port, "/oauth2/backchannel-logout/staff", method=method)
    assert response.status == 405 and response.get("allow") == "POST"


@pytest.fixture
def limited(tmp_path, provider_server, app):
    """Makes a gateway that accepts some failures a minute."""
    def make(failures):
        realm = provider_server.realm("mock")
        limits = {**NO_LIMITS, "failed_sign_ins_per_minute": failures}
        apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
        store = {"store": "memory:"}
        return Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, gateway={"limits": limits}, sessions=store)

    return make


def test_a_provider_that_rotates_its_key_can_still_end_sessions(limited, realm):
    """The keys are fetched for an unknown name, once in 30 seconds; a token that comes too soon is not called invalid."""
    with limited(0) as gateway:
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/x").status == 200
        fresh, unknown = Key("fresh"), Key("unknown")
        realm.keys = [*SHARED_KEYS, fresh]
        try:
            assert back_channel(gateway, logout_token(realm, key=fresh), "mock").status == 200
            early = back_channel(gateway, logout_token(realm, key=unknown), "mock")
        finally:
            realm.keys = list(SHARED_KEYS)
        assert not is_signed_in(gateway, browser)
        assert early.status == 503 and early.json["error"] == "logout.unverified" and early.get("retry-after")


def test_invalid_logout_tokens_are_limited_for_each_client(limited, realm):
    """A flood of them costs no signatures, and the limit on failed sign-ins is another one."""
    with limited(3) as gateway:
        for _ in range(3):
            assert back_channel(gateway, "nonsense", "mock").status == 400
        refused = back_channel(gateway, logout_token(realm), "mock")
        assert refused.status == 429 and refused.json["error"] == "logout.too_often" and refused.get("retry-after")
        lost = request(gateway.port, "/oauth2/callback/mock?code=x&state=y")
        assert lost.status == 400


def test_replays_of_valid_logout_tokens_do_not_count_as_failures(limited, realm):
    """A provider repeats a token whose response was lost; that delays no other logout."""
    with limited(3) as gateway:
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/x").status == 200
        text = logout_token(realm, sub="eve")
        assert back_channel(gateway, text, "mock").status == 200
        for _ in range(8):
            assert back_channel(gateway, text, "mock").json["error"] == "logout.replayed"
        assert back_channel(gateway, logout_token(realm), "mock").status == 200
        assert not is_signed_in(gateway, browser)


def test_logout_tokens_with_a_wrong_signature_are_limited_for_each_client(limited, realm):
    """They obey every rule but the last, and cost a signature each until the limit."""
    with limited(3) as gateway:
        for _ in range(3):
            assert back_channel(gateway, logout_token(realm, key=FOREIGN), "mock").json["error"] == "logout.token"
        refused = back_channel(gateway, logout_token(realm), "mock")
        assert refused.status == 429 and refused.json["error"] == "logout.too_often"


# Front channel


def frame(browser, realm, fields=None, **query):
    """The page that the provider's page loads into a frame; a browser sends the cookie if both are of one site."""
    parameters = {"iss": realm.issuer, "sid": "s-1", **query}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    fields = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-site", **(fields or {})}
    return browser.send("GET", "/oauth2/frontchannel-logout/staff?" + urlencode(parameters), fields=fields)


def test_rp_frontchannel_rpinitlogout(own_gateway, staff, sign_in):
    """Only the session of the browser ends, and nothing is sent to the provider."""
    here, there = sign_in(sid="s-1"), sign_in(sid="s-1")
    ticket, before = here.ticket(), len(staff.requests)
    page = frame(here, staff)
    assert page.status == 200 and page.get("cache-control") == "no-store" and here.ticket() is None
    assert page.get("content-security-policy").endswith(f"frame-ancestors {own_origin(staff)}")
    assert page.get("x-frame-options") is None
    assert not is_signed_in(own_gateway, None, ticket) and is_signed_in(own_gateway, there)
    assert len(staff.requests) == before


def own_origin(realm):
    parts = urlsplit(realm.issuer)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.mark.parametrize(
    "query", [{"iss": "https://evil.example"}, {"iss": None}, {"sid": "s-2"}, {"sid": None}, {"sid": ""}], ids=str
)
def test_a_front_channel_logout_that_does_not_name_the_session_ends_nothing(query, own_gateway, staff, sign_in):
    """The page does not show whether there is a session."""
    browser = sign_in(sid="s-1")
    page = frame(browser, staff, **query)
    assert page.status == 200 and page.all("set-cookie") == [] and is_signed_in(own_gateway, browser)
    assert frame(Browser(own_gateway), staff).body == page.body


REVOCATIONS = "gatehouse_token_revocations_total"


@pytest.fixture
def revoking(own_gateway, staff):
    """The realm of `staff`, which revokes tokens; the gateway starts again, because it caches the metadata."""
    own_gateway.stop()
    staff.metadata["revocation_endpoint"] = f"{staff.issuer}/revoke"
    staff.documents["revoke"] = (200, {}, b"")
    staff.issues_refresh = True
    own_gateway.start()
    return staff


def revoked(realm):
    return [one for one in realm.requests if one["path"] == "revoke"]


def test_a_sign_out_revokes_the_refresh_token_at_the_provider(own_gateway, revoking, sign_in):
    """Once, with the client authentication of the token endpoint, and the app's own host does it as well."""
    browser, origin = sign_in(), f"http://own.localhost:{own_gateway.port}"
    assert browser.visit(f"{origin}/x").status == 200
    (token,) = revoking.grants
    assert browser.sign_out(origin=origin).status == 303
    eventually(lambda: own_gateway.metric(f'{REVOCATIONS}{{provider="staff",result="ok"}}') == 1, "it is revoked")
    (sent,) = revoked(revoking)
    assert sent["form"]["token"] == token and sent["form"]["token_type_hint"] == "refresh_token"
    assert basic(sent["fields"]["Authorization"]) == ("gatehouse", ENVIRONMENT["TEST_CLIENT_SECRET"])


@pytest.mark.parametrize("response", ["silence", (503, {}, b"down"), (400, {}, b'{"error": "invalid_request"}')])
def test_a_sign_out_does_not_depend_on_the_revocation(response, own_gateway, revoking, sign_in):
    """It ends before the provider has responded; a failure is a line without the token, and a metric."""
    hold = threading.Event()
    if response == "silence":
        revoking.holds["revoke"] = hold
    else:
        revoking.documents["revoke"] = response
    browser = sign_in()
    ticket = browser.ticket()
    (token,) = revoking.grants
    assert browser.sign_out().status == 303
    assert not is_signed_in(own_gateway, browser, ticket)
    eventually(lambda: len(revoked(revoking)) == 1, "the provider is asked")
    if response != "silence":
        failed = f'{REVOCATIONS}{{provider="staff",result="provider.'
        eventually(lambda: own_gateway.metric(failed) == 1, "the failure is counted")
        assert "tokens not revoked code=provider." in own_gateway.log
    hold.set()
    assert token not in own_gateway.log


def test_a_back_channel_logout_revokes_nothing(own_gateway, revoking, sign_in):
    browser = sign_in(sid="s1")
    assert back_channel(own_gateway, logout_token(revoking, sid="s1")).status == 200
    assert not is_signed_in(own_gateway, browser)
    assert not revoked(revoking) and own_gateway.metric(REVOCATIONS) == 0
