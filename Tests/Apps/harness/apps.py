# SPDX-License-Identifier: Apache-2.0
"""Starts the apps behind the gateway, each on its own port of 127.0.0.1 and in its own folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import requests

from support.processes import Process, eventually, free_port

BIN = Path(sys.executable).parent


class App:
    """A running app: `port`, and `processes` that end with it."""
    def __init__(self, folder, name, slow=30):
        self.folder, self.name, self.slow = Path(folder), name, slow
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.processes = []

    def run(self, *command, env=None, cwd=None, name=None):
        process = Process(command, self.folder, name or self.name, env, cwd or self.folder)
        self.processes.append(process)
        return process

    def listening(self):
        self.processes[-1].wait_listening(self.port, self.slow)
        return self

    def responding(self, path, status=200, **more):
        """Waits until the app responds to a path with a status."""
        child = self.processes[-1].child

        def ready():
            assert child.poll() is None, f"{self.name} ended with {child.returncode}:\n{self.processes[-1].log[-3000:]}"
            return requests.get(self.origin + path, timeout=10, **more).status_code == status

        eventually(ready, f"{self.name} responds to {path}", self.slow)
        return self

    def stop(self):
        for process in reversed(self.processes):
            if process.child.poll() is None:
                process.child.terminate()
                try:
                    process.child.wait(15)
                except subprocess.TimeoutExpired:
                    process.child.kill()
                    process.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


def run(*command, cwd=None, env=None, data=None, check=True, timeout=120):
    """Runs a client to its end and gives what it wrote."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        input=data,
        capture_output=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
    )
    assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done


def apache(folder, name, modules, configuration, server_name="localhost"):
    """Apache with these modules and this part of a configuration; `{folder}` is its folder."""
    app = App(folder, name)
    account = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    base = ["mpm_event", "authz_core", "env", "alias", "setenvif", "unixd"]
    loads = "".join(
        f"LoadModule {one}_module /usr/lib/apache2/modules/mod_{one}.so\n" for one in [*base, *modules]
        if one != "unixd"
    )
    (app.folder / "apache.conf").write_text(
        f"{loads}ServerName {server_name}\nListen 127.0.0.1:{app.port}\nPidFile {app.folder}/apache.pid\n{account}"
        f"ErrorLog /proc/self/fd/2\nDefaultRuntimeDir {app.folder}\nMutex file:{app.folder}\nThreadsPerChild 16\n"
        f"DocumentRoot {app.folder}\nStartServers 1\nServerLimit 2\nMaxRequestWorkers 32\n" +
        configuration.replace("{folder}", str(app.folder))
    )
    app.run("apache2", "-X" if os.geteuid() else "-DFOREGROUND", "-f", app.folder / "apache.conf")
    return app.listening()


def own(folder):
    """Gives a folder to the account that Apache runs under."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "www-data:www-data", str(folder)], check=True)


def git_server(folder):
    """Apache with `git http-backend`: repositories are below `/git/`."""
    (Path(folder) / "repositories").mkdir()
    return apache(
        folder,
        "git",
        ["cgid"],
        "ScriptSock {folder}/cgid.sock\nSetEnv GIT_PROJECT_ROOT {folder}/repositories\nSetEnv GIT_HTTP_EXPORT_ALL 1\n"
        "SetEnv REMOTE_USER tester\nPassEnv PATH\nScriptAlias /git/ /usr/lib/git-core/git-http-backend/\n"
        "<Directory /usr/lib/git-core>\nRequire all granted\nOptions +ExecCGI\n</Directory>\n",
    )


def subversion_server(folder, server_name="localhost"):
    """Apache with Subversion: one repository at `/svn`."""
    repository = Path(folder) / "svn"
    run("svnadmin", "create", repository)
    own(repository)
    return apache(
        folder,
        "svn",
        ["dav", "dav_svn"],
        f"<Location /svn>\nDAV svn\nSVNPath {repository}\nRequire all granted\n</Location>\n",
        server_name,
    )


def registry(folder):
    """The Docker registry of Debian, with a store in the folder."""
    app = App(folder, "registry")
    (app.folder / "registry.yml").write_text(
        "version: 0.1\nlog: {accesslog: {disabled: true}}\n"
        f"storage: {{filesystem: {{rootdirectory: {app.folder}/store}}, delete: {{enabled: true}}}}\n"
        f"http: {{addr: '127.0.0.1:{app.port}'}}\n"
    )
    app.run("docker-registry", "serve", app.folder / "registry.yml")
    return app.listening()


def webdav(folder, mount=""):
    """WsgiDAV with an empty share."""
    app = App(folder, "wsgidav")
    (app.folder / "share").mkdir()
    (app.folder / "wsgidav.json").write_text(
        json.dumps({
            "host": "127.0.0.1",
            "port": app.port,
            "mount_path": mount or None,
            "provider_mapping": {"/": str(app.folder / "share")},
            "http_authenticator": {"domain_controller": None},
            "simple_dc": {"user_mapping": {"*": True}},
            "property_manager": True,
            "lock_storage": True,
            "verbose": 1,
        })
    )
    app.run(BIN / "wsgidav", "--config", app.folder / "wsgidav.json")
    return app.listening()


def radicale(folder, auth="none", rights="authenticated"):
    """Radicale, which accepts any user name without a password, or takes the user from a header."""
    app = App(folder, "radicale")
    (app.folder / "radicale.conf").write_text(
        f"[server]\nhosts = 127.0.0.1:{app.port}\n[auth]\ntype = {auth}\n[rights]\ntype = {rights}\n"
        f"[storage]\nfilesystem_folder = {app.folder}/collections\n[web]\ntype = internal\n"
    )
    app.run(sys.executable, "-m", "radicale", "--config", app.folder / "radicale.conf")
    return app.listening()


def rabbitmq(folder, prefix=""):
    """RabbitMQ with its management plugin and its own Erlang port mapper."""
    app = App(folder, "rabbitmq", slow=120)
    mapper, distribution, amqp = free_port(), free_port(), free_port()
    (app.folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
    (app.folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {app.port}\n" +
        (f"management.path_prefix = {prefix}\n" if prefix else "")
    )
    env = {
        "ERL_EPMD_PORT": str(mapper),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "HOME": str(app.folder),
        "RABBITMQ_NODENAME": "corpus@localhost",
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_MNESIA_BASE": str(app.folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(app.folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(app.folder / "rabbitmq"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(app.folder / "enabled_plugins"),
        "RABBITMQ_PID_FILE": str(app.folder / "rabbitmq.pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2",
        "LC_ALL": "C.UTF-8",
    }
    app.run("epmd", "-port", mapper, "-address", "127.0.0.1", env=env, name="epmd").wait_listening(mapper)
    # The script starts the Erlang VM in the foreground by `exec`, so its process is the one to stop.
    app.run("/usr/lib/rabbitmq/bin/rabbitmq-server", env=env)
    return app.responding(f"{prefix}/api/overview", auth=("guest", "guest"))


#: As the page of docs/apps has it, but with the current name of the token.
JUPYTERLAB = ["--no-browser", "--ip=127.0.0.1", "--IdentityProvider.token=", "--ServerApp.password="]


def jupyterlab(folder, base="/", flags=(), socket=None):
    """JupyterLab without its own login, since the gateway has signed the user in; at a port, or at a socket in its folder."""
    app = App(folder, "jupyterlab", slow=90)
    (app.folder / "notebooks").mkdir()
    home = {
        key: str(app.folder / "home") for key in (
            "HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
            "JUPYTERLAB_SETTINGS_DIR"
        )
    }
    (app.folder / "home").mkdir()
    app.socket = app.folder / socket if socket else None
    place = [f"--ServerApp.sock={app.socket}"] if socket else [f"--port={app.port}", "--ServerApp.port_retries=0"]
    app.run(
        BIN / "jupyter-lab",
        *(flags or JUPYTERLAB),
        *place,
        "--allow-root",
        f"--ServerApp.base_url={base}",
        f"--ServerApp.root_dir={app.folder}/notebooks",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class="
        "jupyterlab.NeverCheckForUpdate",
        "--ServerApp.terminals_enabled=False",
        env={**home, "PATH": path()},
    )
    if socket:
        eventually(app.socket.exists, "JupyterLab listens on its socket", app.slow)
        return app
    return app.responding(f"{base}api/status")


def path():
    return f"{BIN}{os.pathsep}{os.environ['PATH']}"


def devpi(folder):
    """devpi without a mirror of PyPI."""
    app = App(folder, "devpi", slow=90)
    run(BIN / "devpi-init", "--serverdir", app.folder / "server", "--no-root-pypi", "--root-passwd", "secret")
    app.run(BIN / "devpi-server", "--serverdir", app.folder / "server", "--host", "127.0.0.1", "--port", app.port)
    return app.responding("/+api")


def mlflow(folder, prefix=""):
    """MLflow's tracking server with a database and artifacts in the folder."""
    app = App(folder, "mlflow", slow=120)
    more = ["--static-prefix", prefix] if prefix else []
    app.run(
        BIN / "mlflow",
        "server",
        "--host",
        "127.0.0.1",
        "--port",
        app.port,
        "--workers",
        "1",
        "--backend-store-uri",
        f"sqlite:///{app.folder}/mlflow.db",
        "--artifacts-destination",
        app.folder / "artifacts",
        *more,
        env={"PATH": path(), "HOME": str(app.folder), "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
    )
    return app.responding(f"{prefix}/health")


def gradio(folder, root=""):
    """A Gradio app with one text field, a stream and an upload."""
    app = App(folder, "gradio", slow=90)
    program = Path(__file__).with_name("gradio_app.py")
    app.run(
        sys.executable,
        program,
        app.port,
        root,
        env={
            "GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "GRADIO_TEMP_DIR": str(app.folder / "temp"),
            "HOME": str(app.folder), "HF_HUB_DISABLE_TELEMETRY": "1"
        },
    )
    return app.responding("/config")


def netdata(folder):
    """Netdata with its dashboard and few collectors."""
    app = App(folder, "netdata", slow=60)
    for name in ("cache", "lib", "log", "etc"):
        (app.folder / name).mkdir()
    account = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
    (app.folder / "netdata.conf").write_text(
        f"[global]\nrun as user = {account}\n[directories]\ncache = {app.folder}/cache\nlib = {app.folder}/lib\n"
        f"log = {app.folder}/log\nconfig = {app.folder}/etc\n[db]\nmode = ram\nretention = 600\n[ml]\nenabled = no\n"
        f"[health]\nenabled = no\n[web]\nbind to = 127.0.0.1:{app.port}\nweb files owner = root\n"
        "[plugins]\nproc = no\ndiskspace = no\ncgroups = no\ntc = no\nidlejitter = yes\nenable running new plugins = no\n"
        "[statsd]\nenabled = no\n[cloud]\nenabled = no\n"
    )
    app.run("netdata", "-D", "-c", app.folder / "netdata.conf", "-P", app.folder / "netdata.pid")
    app.responding("/api/v1/info")
    chart = lambda: requests.get(f"{app.origin}/api/v1/data?chart=netdata.server_cpu&after=-5", timeout=10).status_code == 200
    eventually(chart, "netdata has looked at itself", 30)
    return app


def prometheus(folder, prefix=""):
    """Prometheus, which scrapes itself."""
    app = App(folder, "prometheus", slow=60)
    (app.folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: itself\n    static_configs:\n"
        f"      - targets: ['127.0.0.1:{app.port}']\n    metrics_path: {prefix}/metrics\n"
    )
    more = [f"--web.external-url=http://localhost{prefix}/"] if prefix else []
    app.run(
        "prometheus",
        f"--config.file={app.folder}/prometheus.yml",
        f"--storage.tsdb.path={app.folder}/data",
        f"--web.listen-address=127.0.0.1:{app.port}",
        *more,
    )
    app.responding(f"{prefix}/-/ready")
    seen = lambda: requests.get(f"{app.origin}{prefix}/api/v1/query?query=up", timeout=10).json()["data"]["result"]
    eventually(seen, "prometheus has scraped itself", 30)
    return app


def panel(folder, *options):
    """A Panel app with a button that counts, served by Bokeh at `/panel_app`."""
    app = App(folder, "panel", slow=90)
    program = Path(__file__).with_name("panel_app.py")
    app.run(BIN / "panel", "serve", program, "--port", app.port, "--address", "127.0.0.1", *options, env={"HOME": str(app.folder)})
    return app.responding("/panel_app")


def transmission(folder, *options):
    """Transmission with its web client and nothing to download."""
    app = App(folder, "transmission")
    peer = free_port()
    app.run(
        "transmission-daemon", "--foreground", "--config-dir", app.folder, "--download-dir", app.folder / "files", "--no-auth",
        "--port", app.port, "--rpc-bind-address", "127.0.0.1", "--peerport", peer, "--no-portmap", "--no-dht", "--no-lpd", *options
    )
    return app.listening()


def cups(folder, alias=""):
    """CUPS without printers; `alias` is another name of its host."""
    app = App(folder, "cups")
    for name in ("cache", "spool", "state", "root", "temporary"):
        (app.folder / name).mkdir()
    (app.folder / "root/cupsd.conf").write_text(
        f"Listen 127.0.0.1:{app.port}\nLogLevel error\nErrorPolicy retry-job\n" + (f"ServerAlias {alias}\n" if alias else "") +
        "<Location />\nOrder allow,deny\nAllow all\n</Location>\n"
    )
    names = {"CacheDir": "cache", "RequestRoot": "spool", "StateDir": "state", "ServerRoot": "root", "TempDir": "temporary"}
    logs = "".join(f"{name}Log {app.folder}/{name.lower()}.log\n" for name in ("Access", "Error", "Page"))
    folders = "".join(f"{key} {app.folder}/{name}\n" for key, name in names.items())
    (app.folder / "files.conf").write_text(logs + folders)
    app.run("cupsd", "-f", "-c", app.folder / "root/cupsd.conf", "-s", app.folder / "files.conf")
    return app.listening()


def mercurial(folder, *settings):
    """`hg serve` of an empty repository that anyone may push to; `settings` are more of its `hgrc`."""
    app = App(folder, "hg")
    run("hg", "init", app.folder / "repository")
    (app.folder / "repository/.hg/hgrc").write_text("[web]\nallow-push = *\n" + "".join(f"{one}\n" for one in settings))
    app.run("hg", "serve", "-R", app.folder / "repository", "-a", "127.0.0.1", "-p", app.port, env={"HGRCPATH": ""})
    return app.listening()


#: pgAdmin pins packages that other apps need in other versions, so it has an environment of its own.
PGADMIN = Path(sys.prefix) / "pgadmin"


def pgadmin(folder, *settings):
    """pgAdmin in server mode, which takes its users from the web server; `settings` are more lines of its `config_local.py`."""
    app = App(folder, "pgadmin", slow=120)
    package = next(PGADMIN.glob("lib/python*/site-packages/pgadmin4"))
    files = {
        "DATA_DIR": "", "SQLITE_PATH": "pgadmin.db", "LOG_FILE": "pgadmin.log", "SESSION_DB_PATH": "sessions", "STORAGE_DIR": "storage",
        "AZURE_CREDENTIAL_CACHE_DIR": "azure",
    }
    lines = [f"{name} = {str(app.folder / file)!r}" for name, file in files.items()]
    lines += ["SERVER_MODE = True", "UPGRADE_CHECK_ENABLED = False", "MASTER_PASSWORD_REQUIRED = False", "DEFAULT_SERVER = '127.0.0.1'"]
    lines += [f"DEFAULT_SERVER_PORT = {app.port}", "AUTHENTICATION_SOURCES = ['webserver']", *settings]
    (app.folder / "config_local.py").write_text("\n".join(lines) + "\n")
    env = {"PYTHONPATH": str(app.folder), "PGADMIN_SETUP_EMAIL": "root@example.com", "PGADMIN_SETUP_PASSWORD": "not used here"}
    run(PGADMIN / "bin/python", package / "setup.py", "setup-db", env=env, timeout=240)
    app.run(PGADMIN / "bin/python", package / "pgAdmin4.py", env=env)
    return app.responding("/misc/ping")
