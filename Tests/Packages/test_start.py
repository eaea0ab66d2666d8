# SPDX-License-Identifier: Apache-2.0
"""The walk of a newcomer: docs/start.md in a clean Debian, command by command, to a signed-in user."""

import re
import socket
import textwrap
import time

import deb
import pytest
import yaml
from support.browser import Browser
from support.glewlwyd import Glewlwyd
from support.processes import certificate, eventually

PAGE = (deb.REPOSITORY / "docs/start.md").read_text()
HOSTS = ["gate.example.com", "wiki.example.com"]
SECRET = "pa5ohz8Eis7aiDei"
ADA = {"ada": {"name": "Ada Lovelace", "email": "ada@example.com"}}


def commands():
    """The blocks of commands on the page, in their order."""
    return [textwrap.dedent(block) for block in re.findall(r"^ *```sh\n(.*?)^ *```", PAGE, re.S | re.M)]


def written(provider, app):
    """The file of the page, with a provider and an app that exist here."""
    block = next(block for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.S | re.M) if "apps:" in block)
    file = yaml.safe_load(block)
    google = file["providers"]["google"]
    google |= {"type": "oidc", "issuer": provider.issuer("256"), "client_id": "gatehouse", "scopes": ["openid"]}
    del google["hosted_domains"]
    file["apps"]["wiki"] |= {"upstream": app.address, "allow": "signed_in"}
    return yaml.safe_dump(file)


@pytest.fixture
def provider(tmp_path):
    callback = re.search(r"https://gate\.example\.com/oauth2/callback/\w+", PAGE).group()
    glewlwyd = Glewlwyd(tmp_path, {"gatehouse": {"client_secret": SECRET, "redirect_uri": [callback]}}, ADA)
    yield glewlwyd.start()
    glewlwyd.stop()


@pytest.fixture
def free_ports_of_the_page():
    for port in (80, 443, 8080, 9901):
        with socket.socket() as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                wire.bind(("127.0.0.1", port))
            except OSError:
                pytest.skip(f"port {port} of the page is in use")


def test_a_newcomer_gets_from_the_package_to_a_signed_in_user(
    root, provider, app, free_ports_of_the_page, tmp_path, capsys
):
    """Under ten minutes of machine time; what an operator replaces is replaced, and nothing else."""
    installing, secret, check, online, attempt, start, example, nginx, *_ = commands()
    # The mirror of this machine may be slow; the page is not about that.
    root.boot().shell("apt-get install --no-install-recommends --download-only ./gatehouse_*.deb nginx-light", "/srv/1")
    steps = []

    def walk(script, **more):
        began = time.monotonic()
        result = root.shell(script, **more)
        steps.append((script.strip().splitlines()[0], time.monotonic() - began))
        return result

    walk(installing, folder="/srv/1")
    walk(secret, text=SECRET + "\n")
    root.write("/etc/gatehouse/providers.yaml", written(provider, app))
    assert walk(check).stdout.endswith("is usable: 1 provider, 1 app\n")
    assert "online: no failures" in walk(online.splitlines()[0]).stdout
    assert attempt.startswith("gatehouse try google ")
    walk(start.replace("journalctl", "journalctl --no-pager"))

    certificate_file, key_file = (open(path).read() for path in certificate(tmp_path, "gate", *HOSTS))
    walk(example)
    root.write("/etc/ssl/gatehouse/fullchain.pem", certificate_file)
    root.write("/etc/ssl/gatehouse/privkey.pem", key_file)
    # Tests listen on loopback only; a reload could not take port 80 from the default site's socket for all addresses.
    root.shell("systemctl stop nginx; rm /etc/nginx/sites-enabled/*")
    root.shell("sed -i -E 's/listen (80|443)/listen 127.0.0.1:\\1/' /etc/nginx/conf.d/gatehouse.conf")
    walk(nginx)

    browser = Browser()
    eventually(lambda: browser.send("GET", "http://wiki.example.com/page").status == 308, "nginx responds")
    page = browser.visit("https://wiki.example.com/page")
    assert page.url.startswith(f"{provider.origin}/login.html?"), "the provider asks who it is"
    page = provider.agree(browser, page)
    journal = root.run("journalctl", "--no-pager", "-u", "gatehouse-activated").stdout
    assert (page.status, page.url) == (200, "https://wiki.example.com/page"), journal
    assert app.requests[-1].get("x-forwarded-user").startswith("google:")
    assert {line.split()[6] for line in journal.splitlines()} == {"info"}, journal
    with capsys.disabled():
        print(*(f"\n{seconds:6.1f} s  {step}" for step, seconds in steps))
    assert sum(seconds for _, seconds in steps) < 600
