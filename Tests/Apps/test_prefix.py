# SPDX-License-Identifier: Apache-2.0
"""Apps under a path prefix: what each needs, and what cannot work. docs/compatibility.md has the table."""

import requests

from harness import apps
from harness.clients import AppBrowser, session as signed_in

PREFIX = "/tools/app"
STRIPS = {"strip_prefix": True}


def visit(front, folder, path, ready):
    """Chromium opens a page below the prefix; gives the requests that failed, favicons aside."""
    with AppBrowser(folder, front.url) as browser:
        browser.sign_in(path)
        browser.until(ready, "the page")
        return [one for one in browser.failed if "favicon" not in str(one[1])]


def text(part):
    return f"document.body && document.body.innerText.includes('{part}')"


def test_git_with_the_prefix_stripped(started, fronts, tmp_path):
    """git builds all URLs from the one that the user gave."""
    app = started(apps.git_server)
    repository = app.folder / "repositories" / "one.git"
    apps.run("git", "init", "--bare", "-b", "main", repository)
    apps.own(repository)
    front = fronts("prefix-git", app.port, STRIPS, path=PREFIX)
    apps.run(
        "git",
        "-c",
        f"http.extraHeader=Cookie: {front.cookie}",
        "clone",
        "-q",
        f"{front.url}/git/one.git",
        tmp_path / "one",
        env={"GIT_TERMINAL_PROMPT": "0"}
    )


def test_y_04_subversion_only_where_the_app_has_the_same_path(started, fronts, tmp_path):
    """The XML of mod_dav_svn names its own paths, so a stripped prefix misleads the client."""
    app = started(apps.subversion_server)
    svn = lambda url: apps.run(
        "svn", "list", "--non-interactive", "--config-dir", tmp_path / "config", url, check=False
    ).returncode
    assert svn(f"{fronts('prefix-svn', app.port, {'public': ['/svn', '/svn/']}, path='/svn').url}/") == 0
    assert svn(
        f"{fronts('prefix-svn-stripped', app.port, {**STRIPS, 'public': [PREFIX + '/']}, path=PREFIX).url}/svn/"
    ) != 0


def test_the_registry_cannot_have_a_prefix(started, fronts):
    """Clients of registries ask for `/v2/` at the root of the host, whatever the name of the image."""
    app = started(apps.registry)
    front = fronts("prefix-registry", app.port, {**STRIPS, "public": [PREFIX + "/"]}, path=PREFIX)
    assert requests.get(f"{front.url}/v2/", timeout=10).status_code == 200
    remote = "docker://" + front.url.partition("://")[2] + "/image:one"
    assert apps.run("skopeo", "inspect", "--tls-verify=false", remote, check=False).returncode != 0
    asked = [one.request.target for one in front.client_tap.take() if one.request.target.startswith("/v2/")]
    assert asked, "skopeo leaves the prefix out"


def test_y_04_webdav_with_a_mount_path(started, fronts):
    """WsgiDAV names its paths below `mount_path`, and removes it from `Destination`."""
    app = started(apps.webdav, PREFIX)
    front = fronts("prefix-webdav", app.port, STRIPS, path=PREFIX)
    with signed_in(front.fields) as session:
        assert session.request("MKCOL", f"{front.url}/a/").status_code == 201
        assert session.put(f"{front.url}/a/one", b"1").status_code == 201
        moved = session.request("MOVE", f"{front.url}/a/one", headers={"Destination": f"{front.url}/a/two"})
        assert moved.status_code == 201
        found = session.request("PROPFIND", f"{front.url}/a/", headers={"Depth": "1"})
        assert found.status_code == 207 and f"{PREFIX}/a/two" in found.text


def test_y_04_radicale_with_x_script_name(started, fronts):
    """Radicale takes its prefix from `X-Script-Name`."""
    app = started(apps.radicale)
    entry = {**STRIPS, "request_headers": {"set": {"X-Script-Name": PREFIX}}}
    front = fronts("prefix-radicale", app.port, entry, path=PREFIX)
    with signed_in(front.fields) as session:
        session.auth = ("ada", "x")
        made = session.request("MKCALENDAR", f"{front.url}/ada/plans/")
        assert made.status_code == 201, made.text
        found = session.request("PROPFIND", f"{front.url}/ada/", headers={"Depth": "1"})
        assert found.status_code == 207 and f"{PREFIX}/ada/plans/" in found.text
        moved = session.get(f"{front.url}/", allow_redirects=False)
        assert moved.headers["Location"].startswith(f"{PREFIX}/"), moved.headers


def test_jupyterlab_with_base_url(started, fronts, tmp_path):
    """JupyterLab has its own prefix, and nothing is stripped."""
    app = started(apps.jupyterlab, PREFIX + "/")
    front = fronts("prefix-jupyterlab", app.port, path=PREFIX)
    assert visit(front, tmp_path, "/lab?reset", "!!document.querySelector('.jp-LauncherCard')") == []


def test_mlflow_with_static_prefix(started, fronts, tmp_path):
    """MLflow has its own prefix, and nothing is stripped."""
    app = started(apps.mlflow, PREFIX)
    front = fronts("prefix-mlflow", app.port, path=PREFIX)
    failed = visit(front, tmp_path, "/#/experiments", text("Default"))
    assert [one for one in failed if "users/current" not in str(one[1])] == []


def test_gradio_with_root_path(started, fronts, tmp_path):
    """Gradio has to know the prefix that is stripped."""
    app = started(apps.gradio, PREFIX)
    front = fronts("prefix-gradio", app.port, STRIPS, path=PREFIX)
    failed = visit(front, tmp_path, "/", "!!document.querySelector('#greet')")
    assert [one for one in failed if "manifest.json" not in str(one[1])] == [], "V-08 is about the manifest"


def test_prometheus_with_an_external_url(started, fronts, tmp_path):
    """Prometheus takes its prefix from the external URL, and nothing is stripped."""
    app = started(apps.prometheus, PREFIX)
    front = fronts("prefix-prometheus", app.port, path=PREFIX)
    assert visit(front, tmp_path, "/graph?g0.expr=up&g0.tab=1", text("itself")) == []


def test_netdata_with_the_prefix_stripped(started, fronts):
    """The API of Netdata uses relative paths only."""
    app = started(apps.netdata)
    front = fronts("prefix-netdata", app.port, STRIPS, path=PREFIX)
    with signed_in(front.fields) as session:
        assert session.get(f"{front.url}/api/v1/info", timeout=10).status_code == 200


def test_y_02_rabbitmq_with_a_path_prefix(started, fronts):
    """RabbitMQ's management has its own prefix, and nothing is stripped."""
    app = started(apps.rabbitmq, PREFIX)
    front = fronts("prefix-rabbitmq", app.port, path=PREFIX)
    with signed_in(front.fields) as session:
        session.auth = ("guest", "guest")
        assert session.get(f"{front.url}/api/overview").status_code == 200
        assert session.get(f"{front.url}/", allow_redirects=True).status_code == 200
        assert session.put(f"{front.url}/api/queues/%2F/q", json={}).status_code == 201


def test_devpi_with_an_outside_url(started, fronts, tmp_path):
    """devpi makes absolute links from `X-Outside-Url`."""
    app = started(apps.devpi)
    front = fronts("prefix-devpi", app.port, STRIPS, path=PREFIX)
    front.gateway.configuration["apps"]["app"]["request_headers"] = {"set": {"X-Outside-Url": front.url}}
    front.gateway.write()
    front.gateway.reload()
    with signed_in(front.fields) as session:

        def listed():
            response = session.get(f"{front.url}/+api", headers={"Accept": "application/json"}).json()
            return response["result"]["login"].startswith(front.url)

        apps.eventually(listed, "links have the prefix")


def test_v_07_a_redirect_of_an_app_that_does_not_know_its_prefix(started, fronts):
    """`Location: /classic/graph` of Prometheus leads below the prefix when `Location` is rewritten."""
    app = started(apps.prometheus)
    front = fronts("prefix-unaware", app.port, STRIPS, path=PREFIX)
    with signed_in(front.fields) as session:
        moved = session.get(f"{front.url}/", allow_redirects=False)
        assert moved.headers["Location"].startswith(f"{PREFIX}/"), moved.headers["Location"]
