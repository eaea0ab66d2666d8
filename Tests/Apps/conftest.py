# SPDX-License-Identifier: Apache-2.0
"""Gateways in front of real apps; one provider server for all of them."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.front import Front
from harness.recording import Recording
from support.gateway import PROGRAM
from support.processes import certificate
from support.provider import ProviderServer

PROTOCOLS = [pytest.param(False, id="http1"), pytest.param(True, id="http2")]


def pytest_addoption(parser):
    parser.addoption("--record", metavar="FOLDER", help="keep samples of the traffic in this folder")


def pytest_sessionstart(session):
    if not PROGRAM.exists():
        pytest.exit(f"{PROGRAM} is not built; set GATEHOUSE_PROGRAM or run `swift build`", returncode=2)


@pytest.fixture(scope="session")
def provider_server(tmp_path_factory, pytestconfig):
    """The provider, and the certificate of all gateways, which the clients trust and nothing else."""
    server = ProviderServer()
    names = ("localhost", "gate.localhost", "app.localhost", "sister.localhost", "127.0.0.1")
    server.certificate = certificate(tmp_path_factory.mktemp("tls"), "gateway", *names)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_CERT"):
        os.environ[name] = server.certificate[0]
    server.recording = Recording(pytestconfig.getoption("--record"))
    yield server
    server.recording.write()
    server.shutdown()


@pytest.fixture(scope="module")
def started():
    """Starts apps, which stop at the end of the module: `started(webdav)`."""
    with ExitStack() as stack:

        def start(app, *more):
            # Not below pytest's own folder, which accounts of servers cannot enter.
            folder = Path(
                stack.enter_context(
                    TemporaryDirectory(prefix=f"gatehouse-{app.__name__}-", ignore_cleanup_errors=True)
                )
            )
            folder.chmod(0o755)
            return stack.enter_context(app(folder, *more))

        yield start


@pytest.fixture(scope="module")
def fronts(tmp_path_factory, provider_server):
    """Starts gateways in front of apps; they stop at the end of the module."""
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
