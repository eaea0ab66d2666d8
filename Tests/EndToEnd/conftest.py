# SPDX-License-Identifier: Apache-2.0
"""Shared fixtures: one gateway, one provider server and one recording app for a whole run."""

import pytest

from support import balanced
from support.browser import Browser
from support.gateway import PROGRAM, Gateway, oidc
from support.machines import Issuer
from support.processes import certificate, free_port
from support.provider import ProviderServer
from support.slow import BriefTunnel, SlowReader
from support.upstream import Upstream
from support.websockets import Echo

REALMS = ["mock", "other", "aside"]


def pytest_addoption(parser):
    parser.addoption("--fleet", choices=sorted(balanced.TOPOLOGIES), help="two gateways on such a Redis, and a balancer")


def pytest_configure(config):
    balanced.chosen = config.getoption("--fleet")


def pytest_sessionstart(session):
    if not PROGRAM.exists():
        pytest.exit(f"{PROGRAM} is not built; set GATEHOUSE_PROGRAM or run `swift build`", returncode=2)


#: Files whose tests load the machine or measure time so closely that only one other such file runs beside them.
LOADING = {
    "test_drain", "test_failing_writes", "test_flood", "test_http2_attacks", "test_limits", "test_load", "test_reload",
    "test_slow_provider", "test_slow_readers", "test_upstreams",
}

#: Of the others, those that take longest; they come first, so that no worker is left with one of them at the end.
LONG = [
    "test_cluster", "test_page_gallery", "test_websocket", "test_run_book", "test_quirks", "test_upstream_http2", "test_sessions", "test_pin_operations",
    "test_real_providers", "test_routes", "test_pins", "test_check_online", "test_id_tokens", "test_raw_requests",
    "test_upstream_tls", "test_more_providers", "test_jose_libraries", "test_client_keys", "test_http2",
    "test_compatibility", "test_app_pages", "test_identity_formats", "test_keys",
]


#: Fixtures that begin with the first test, since they take a minute; the tests that use them come last.
BEGUN_EARLY = {"slow_readers", "brief_tunnel", "brief_app"}


def weight(item):
    name = item.path.stem
    return LONG.index(name) if name in LONG else len(LONG), not BEGUN_EARLY.isdisjoint(item.fixturenames)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the tests that load the machine, and orders: long files first, last what has been started first."""
    for item in items:
        if item.path.stem in LOADING:
            item.add_marker(pytest.mark.loading)
        alone = item.get_closest_marker("one_gateway")
        if alone and balanced.chosen:
            item.add_marker(pytest.mark.skip(reason=f"one gateway: {alone.args[0]}"))
    items.sort(key=weight)


@pytest.fixture(scope="session", autouse=True)
def clean_exits():
    """Each gateway that a test has left must have drained and ended with 0."""
    yield
    failed = Gateway.failed_exits()
    balanced.Balanced.end_all()
    assert not failed, "\n".join(failed)


@pytest.fixture(scope="session", autouse=True)
def begun_early(request, clean_exits):
    for name in sorted(BEGUN_EARLY):
        if any(name in item.fixturenames for item in request.session.items):
            request.getfixturevalue(name)


@pytest.fixture(scope="session")
def brief_tunnel(tmp_path_factory, provider_server):
    """A tunnel whose session expires a minute after the first test."""
    sessions = {"lifetime": "1m", "idle_timeout": "1m"}
    tunnel = BriefTunnel(tmp_path_factory.mktemp("brief"), provider_server.realm("brief").issuer, sessions)
    yield tunnel
    tunnel.stop()


@pytest.fixture(scope="session")
def brief_app(tmp_path_factory, provider_server, app):
    """The same, but the session is over for the app of the tunnel only."""
    issuer = provider_server.realm("brief").issuer
    apps = {
        "brief": {"path": "/brief", "upstream": app.address, "allow": "signed_in", "lifetime": "1m"},
        "long": {"path": "/", "upstream": app.address, "allow": "signed_in"},
    }
    tunnel = BriefTunnel(tmp_path_factory.mktemp("brief-app"), issuer, limits={"lifetime": "1m"}, apps=apps)
    yield tunnel
    tunnel.stop()


@pytest.fixture(scope="session")
def slow_readers(shared, app):
    """Clients that read a long download so slowly that it would never end."""
    readers = [SlowReader(shared, app, protocol) for protocol in ("HTTP/1.1", "HTTP/2")]
    yield {reader.protocol: reader for reader in readers}
    for reader in readers:
        reader.stop()


@pytest.fixture(scope="session")
def provider_server():
    server = ProviderServer()
    yield server
    server.shutdown()


@pytest.fixture(scope="session")
def app():
    """The recording app behind the shared gateway."""
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def issuer():
    """An issuer of tokens for machines."""
    issuer = Issuer()
    yield issuer
    issuer.server.shutdown()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return {"gate": certificate(folder, "gate", "gate.localhost"), "own": certificate(folder, "own", "own.localhost")}


def shared_apps(address):
    return {
        "echo":
            {
                "path": "/", "upstream": address, "allow": "signed_in", "public": ["GET /open", "/public/"], "headers":
                    {"X-WEBAUTH-USER": "email", "Grafana-Login": "user"},
            }, "other": {"path": "/other/", "upstream": address, "providers": ["other"], "allow": "signed_in"}, "staff":
                {"path": "/staff/", "upstream": address, "allow": [{"email_domain": "example.com"}]}, "admins":
                    {
                        "path": "/admins/", "upstream": address, "allow": [{"group": "admins"}], "public":
                            ["/admins/assets/"],
                    }, "own":
                        {
                            "host": "own.localhost", "path": "/", "upstream": address, "allow": "signed_in", "public":
                                ["/public/"],
                        }, "third":
                            {
                                "host": "third.localhost", "path": "/", "upstream": address, "providers": ["mock"],
                                "allow": "signed_in",
                            },
        "dead": {"path": "/dead/", "upstream": "http://127.0.0.1:9", "allow": "signed_in", "public": ["/dead/"]},
    }


@pytest.fixture(scope="session")
def shared(tmp_path_factory, provider_server, app, certificates):
    """The gateway that most tests use."""
    providers = {name: oidc(provider_server.realm(name).issuer) for name in REALMS}
    providers["mock"]["profile"] = {"groups": ["id_token:/groups"]}
    tls = [{"certificate": cert, "private_key": key} for cert, key in certificates.values()]
    tls_port = free_port()
    gateway = Gateway(
        tmp_path_factory.mktemp("shared"),
        providers,
        shared_apps(app.address),
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": tls}],
    )
    gateway.tls_port = tls_port
    with gateway:
        yield gateway


@pytest.fixture
def gateway(shared):
    """The shared gateway, which has to survive the test."""
    yield shared
    assert shared.process.child.poll() is None, f"the gateway is gone:\n{shared.process.log[-4000:]}"


@pytest.fixture
def realm(provider_server):
    """The realm `mock`, with its defaults at the start of each test."""
    with provider_server.realm("mock").fresh() as realm:
        yield realm


@pytest.fixture
def other_realm(provider_server):
    with provider_server.realm("other").fresh() as realm:
        yield realm


@pytest.fixture
def browser(gateway):
    return Browser(gateway)


@pytest.fixture
def ada(gateway, realm, browser):
    """A browser in which Ada is signed in."""
    page = browser.sign_in("mock", "/welcome")
    assert page.status == 200, page
    assert browser.ticket()
    return browser


@pytest.fixture
def scripted(app):
    """Lets a test script the app's responses below `/public/`."""
    added = []

    def script(path, act):
        added.append(path)
        app.script(path, act)

    yield script
    for path in added:
        app.scripts.pop(path, None)


@pytest.fixture(scope="module")
def echo():
    """An app with WebSockets that sends back what it gets."""
    app = Echo()
    yield app
    app.close()


@pytest.fixture(scope="module")
def recorder():
    """A recording app for the tests of one file."""
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def start_gateway(tmp_path, provider_server):
    """Starts gateways for one test: the app at `/` has this `upstream`, further apps are given by name."""
    started = []

    def start(upstream, public=("/", ), **more):
        apps = {"app": {"path": "/", "upstream": upstream, "allow": "signed_in", "public": list(public)}}
        for name, other in more.items():
            apps[name] = {"path": f"/{name}/", "upstream": other, "allow": "signed_in", "public": [f"/{name}/"]}
        providers = {"mock": oidc(provider_server.realm("mock").issuer)}
        started.append(Gateway(tmp_path / f"gateway{len(started)}", providers, apps).start())
        return started[-1]

    yield start
    for gateway in started:
        gateway.leave()
