# SPDX-License-Identifier: Apache-2.0
"""Gateways in front of real apps; one provider server for all."""

import os
from contextlib import ExitStack

import pytest

from harness.front import Front
from support.gateway import BINARY
from support.processes import certificate
from support.provider import ProviderServer

PROTOCOLS = [pytest.param(False, id="http1"), pytest.param(True, id="http2")]


def pytest_sessionstart(session):
    if not BINARY.exists():
        pytest.exit(f"{BINARY} is not built; set GATEHOUSE or run `swift build`", returncode=2)


@pytest.fixture(scope="session")
def provider_server(tmp_path_factory):
    """The provider, and the certificate of all gateways, which the clients trust and nothing else."""
    server = ProviderServer()
    names = ("localhost", "gate.localhost", "app.localhost", "sister.localhost", "127.0.0.1")
    server.certificate = certificate(tmp_path_factory.mktemp("tls"), "gateway", *names)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_CERT"):
        os.environ[name] = server.certificate[0]
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Starts apps, which stop at the end of the module: `started(webdav)`."""
    with ExitStack() as stack:
        yield lambda start, *more: stack.enter_context(start(tmp_path_factory.mktemp(start.__name__), *more))


@pytest.fixture(scope="module")
def fronts(tmp_path_factory, provider_server):
    """Puts gateways in front of apps, which stop at the end of the module."""
    with ExitStack() as stack:
        def make(name, port, entry=None, **more):
            front = Front(tmp_path_factory.mktemp(name), provider_server, name, port, entry, **more)
            return stack.enter_context(front)

        yield make


@pytest.fixture(scope="module", params=PROTOCOLS)
def front(request, fronts, app):
    """A gateway in front of the module's app, with the module's `ENTRY` beside `upstream` and `allow`."""
    name = request.module.__name__.removeprefix("test_").replace("_", "-")
    return fronts(name, app.port, getattr(request.module, "ENTRY", None), http2=request.param)
