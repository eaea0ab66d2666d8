# SPDX-License-Identifier: Apache-2.0
"""Packages and images of one built program, and clean roots of Debian to try them in."""

import os

import deb
import image
import pytest
from debian_root import DebianRoot
from release import Release
from support.gateway import oidc, public_echo
from support.processes import free_port
from support.upstream import Upstream


def pytest_sessionstart(session):
    if os.geteuid() != 0:
        pytest.exit("these tests make namespaces and install packages in them; run them as root", returncode=2)


@pytest.fixture(scope="session")
def release():
    return Release.current()


@pytest.fixture(scope="session")
def packages(release, tmp_path_factory):
    """Two packages of the program, the second an upgrade of the first."""
    folder = tmp_path_factory.mktemp("packages")
    return [deb.build(release, revision, "0", folder) for revision in ("1", "2")]


@pytest.fixture(scope="session")
def built_image(release, tmp_path_factory):
    return image.build(release, tmp_path_factory.mktemp("image"))[0]


@pytest.fixture
def root(tmp_path, packages):
    """A clean root with the packages in /srv/1 and /srv/2, in which apt asks nothing."""
    root = DebianRoot(tmp_path / "root")
    for number, package in enumerate(packages, 1):
        root.copy_in(package, f"/srv/{number}/{package.name}")
    (tmp_path / "yes").write_text('APT::Get::Assume-Yes "true";\n')
    root.copy_in(tmp_path / "yes", "/etc/apt/apt.conf.d/90yes")
    yield root
    root.close()


@pytest.fixture
def app():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def ports():
    """The port of the gateway and that of its operations listener."""
    return free_port(), free_port()


@pytest.fixture
def configuration(app, ports):
    """A configuration with one app, without a provider that can be reached; JSON is YAML as well."""
    port, operations = ports
    return {
        "gateway": {
            "public_url": f"http://gate.localhost:{port}",
            "listeners": [{"address": f"127.0.0.1:{port}"}],
            "operations": f"127.0.0.1:{operations}",
            "state": "/var/lib/gatehouse",
            "limits": {"connections_per_client_ip": 0},
        },
        "providers": {"mock": {**oidc("http://127.0.0.1:9"), "client_secret": "a secret of the provider"}},
        "apps": public_echo(app),
    }
