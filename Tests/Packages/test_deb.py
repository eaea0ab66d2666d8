# SPDX-License-Identifier: Apache-2.0
"""The Debian package: installed, upgraded, removed and purged in a clean Debian, beside its systemd."""

import hashlib
import json
import re
import subprocess
import textwrap

import deb
import pytest
import requests
from support.load import Load
from support.processes import REPOSITORY, eventually
from support.raw import request

#: What a removed and purged package leaves: Debian keeps its user, so that the number is never given to another.
KEPT_FILES = {"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"}
#: Where commands find the installed file.
IN_ITS_FOLDER = ("env", "--chdir=/etc/gatehouse")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def install(root, number=1):
    """Installs one of the packages with what it depends on; also an earlier one over a later."""
    root.shell("apt-get install --no-install-recommends --allow-downgrades ./gatehouse_*.deb", f"/srv/{number}")


def status(root, unit):
    return root.run("systemctl", "is-active", unit, check=False).stdout.strip()


def unit_process(root, unit):
    return root.run("systemctl", "show", "--property=MainPID", "--value", unit).stdout.strip()


def ready(ports):
    def responds():
        return requests.get(f"http://127.0.0.1:{ports[1]}/readyz", timeout=5).status_code == 200

    eventually(responds, "the gateway is ready", 20)


def configure(root, configuration, ports):
    """Writes the configuration and the sockets for it, as the page on installation shows."""
    root.write("/etc/gatehouse/providers.yaml", json.dumps(configuration, indent=1))
    streams = "".join(f"ListenStream=127.0.0.1:{port}\n" for port in ports)
    root.write("/etc/systemd/system/gatehouse.socket.d/addresses.conf", f"[Socket]\nListenStream=\n{streams}")
    root.run("systemctl", "daemon-reload")


def test_lintian_finds_nothing(packages):
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--pedantic", packages[0]]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_same_program_makes_the_same_package(release, packages, tmp_path):
    assert digest(deb.build(release, "1", "0", tmp_path)) == digest(packages[0])


def test_n_05_the_program_names_no_folder_of_the_build(packages, tmp_path):
    """So that packages are the same from any folder, and messages of libraries show none."""
    subprocess.run(["dpkg-deb", "--extract", packages[0], tmp_path], check=True)
    assert str(REPOSITORY).encode() not in (tmp_path / "usr/bin/gatehouse").read_bytes()


@pytest.mark.parametrize("page", ["man1/gatehouse.1.gz", "man5/providers.yaml.5.gz"])
def test_a_manual_page_is_well_formed(page, packages, tmp_path):
    subprocess.run(["dpkg-deb", "--extract", packages[0], tmp_path], check=True)
    command = ["mandoc", "-T", "lint", "-W", "warning", tmp_path / "usr/share/man" / page]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout == "", result.stdout


def test_the_manual_page_of_the_file_has_each_key(packages, tmp_path):
    """Each mapping of the reference has its section, with its keys."""
    subprocess.run(["dpkg-deb", "--extract", packages[0], tmp_path], check=True)
    page = tmp_path / "usr/share/man/man5/providers.yaml.5.gz"
    shown = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", page], capture_output=True, text=True, check=True).stdout
    shown = re.sub(r".\x08", "", shown)
    keys = set(re.findall(r"^ {7}(\w+)\b", shown, re.M))
    reference = (deb.REPOSITORY / "docs/configuration.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|(?!.*(?:[Dd]eprecated|not supported))", reference, re.M))
    assert len(documented) > 150 and documented - keys == set()


def test_the_completions_are_scripts_of_their_shells(packages, tmp_path):
    """Where each shell finds them, and without a mistake of syntax."""
    subprocess.run(["dpkg-deb", "--extract", packages[0], tmp_path], check=True)
    for place, shell in {
        "bash-completion/completions/gatehouse": "bash", "zsh/vendor-completions/_gatehouse": "zsh",
        "fish/vendor_completions.d/gatehouse.fish": "fish"
    }.items():
        script = tmp_path / "usr/share" / place
        result = subprocess.run([shell, "-n", script], capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, ""), place
        for word in ("sessions", "revoke", "--dry-run" if shell != "fish" else "dry-run"):
            assert word in script.read_text(), (place, word)


def test_the_version_of_the_package_is_that_of_the_program(release, packages):
    shown = subprocess.run(
        ["dpkg-deb", "--show", "--showformat=${Version}", packages[0]], capture_output=True, text=True
    ).stdout
    assert shown == f"{release.debian_version}-1"
    later = subprocess.run(["dpkg", "--compare-versions", shown, "lt", release.debian_version.partition("~")[0]])
    assert "-" not in release.version or later.returncode == 0, "a pre-release sorts before its release"


def test_the_examples_that_the_documents_name_are_in_the_package(packages, tmp_path):
    subprocess.run(["dpkg-deb", "--extract", packages[0], tmp_path], check=True)
    examples = tmp_path / "usr/share/doc/gatehouse/examples"
    sources = {name: deb.REPOSITORY / source for source, name in deb.EXAMPLES.items()}
    sources |= {f"forward-auth/{path.name}": path for path in (deb.DEPLOY / "forward-auth").iterdir()}
    assert {path.relative_to(examples).as_posix() for path in examples.rglob("*") if path.is_file()} == set(sources)
    assert all((examples / name).read_bytes() == path.read_bytes() for name, path in sources.items())


@pytest.mark.parametrize("unit", deb.UNITS)
def test_the_packaged_units_are_those_of_deploy(unit):
    """What hardens one hardens the other: only the path of the program and the kind of user differ."""
    source = (deb.DEPLOY / unit).read_text()
    packaged = deb.packaged_unit(source)
    settings = [{line for line in text.splitlines() if line and line[0] != "#"} for text in (source, packaged)]
    names = {line.split("=")[0] for line in settings[0] ^ settings[1]}
    assert names <= {"ExecStart", "DynamicUser"} and "User=gatehouse" not in settings[0] ^ settings[1]
    assert "/usr/local" not in packaged


def test_it_is_installed_and_purged_where_systemd_does_not_run(root, release):
    """As in the build of a container."""
    install(root)
    assert root.run("gatehouse", "--version").stdout.splitlines()[0] == f"gatehouse {release.version}"
    root.run("apt-get", "purge", "--yes", "gatehouse")
    assert [path for path in root.files() if "gatehouse" in path and not path.startswith("/srv/")] == []


def test_after_the_installation_nothing_runs(root, release):
    """The file is an example: the gateway reports what is missing, and starts when the operator wants it."""
    install(root.boot())
    assert root.run("gatehouse", "--version").stdout.splitlines()[0] == f"gatehouse {release.version}"
    for unit in deb.UNITS:
        assert status(root, unit) == "inactive"
        assert root.run("systemctl", "is-enabled", unit, check=False).stdout.strip() == "disabled"
    checked = root.run(*IN_ITS_FOLDER, "gatehouse", "check", check=False)
    assert checked.returncode == 1 and "error: there is no file '/etc/gatehouse/secrets/google'" in checked.stderr
    assert checked.stderr.count("error:") == 1


# The page asks for readiness with curl, which would bring the libraries that the package has to bring.
CURL = """
curl() {
    exec 3<>/dev/tcp/127.0.0.1/9901
    printf 'GET /readyz HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3
    cat <&3
}
"""


def test_the_page_on_installation_leads_to_a_running_gateway(root):
    """Its commands as they are, from the package to a ready gateway."""
    section = (deb.REPOSITORY / "docs/install.md").read_text().partition("## Debian package")[2].partition("### ")[0]
    blocks = [textwrap.dedent(block) for block in re.findall(r"```sh\n(.*?)```", section, re.S)]
    installing, secret, check, start = blocks
    root.boot().shell(installing, "/srv/1")
    root.shell(secret, text="a secret of the provider")
    checked = root.shell(check, "/etc/gatehouse")
    assert checked.stdout.endswith("is usable: 1 provider, 1 app\n") and checked.stderr == ""
    assert "\n\nok\n" in root.shell(CURL + start).stdout, "the body of the response"


@pytest.mark.parametrize("unit", ["gatehouse", "gatehouse-activated"])
def test_the_units_run_the_gateway_in_their_sandbox(unit, root, configuration, ports):
    """It serves, keeps its state for itself, and an operator reaches its administration."""
    install(root.boot())
    configure(root, configuration, ports)
    root.run("systemctl", "start", unit)
    ready(ports)
    assert request(ports[0], "/public/x").status == 200
    process = unit_process(root, unit)
    owner = root.run("stat", "--format=%U %a", "/var/lib/gatehouse", f"/proc/{process}").stdout.splitlines()
    assert owner == ["gatehouse 700", "gatehouse 555"]
    limits = root.run("grep", "core file size", f"/proc/{process}/limits", "-i").stdout.split()
    assert limits[4:6] == ["0", "0"]
    assert root.run(*IN_ITS_FOLDER, "gatehouse", "sessions", "list").returncode == 0
    root.run("systemctl", "stop", unit)


def test_the_journal_has_one_entry_for_each_line(root, configuration, ports):
    """With the fields by which journalctl filters, and the whole line as its message, of any length."""
    configuration["logs"] = {"format": "json", "access": "journald", "audit": "journald", "process": "journald"}
    install(root.boot())
    configure(root, configuration, ports)
    root.run("systemctl", "start", "gatehouse")
    ready(ports)
    paths = [f"/public/{number}" for number in range(20)] + ["/public/" + "x" * 3000]
    for path in paths:
        assert request(ports[0], path).status == 200
    assert request(ports[0], "/closed").status == 401
    root.run("systemctl", "reload", "gatehouse")

    def entries(*filters):
        shown = root.run("journalctl", "--identifier=gatehouse", "--output=json", "--all", *filters).stdout
        return [json.loads(line) for line in shown.splitlines()]

    def written():
        found = entries("GATEHOUSE_STREAM=access")
        return found if len(found) == len(paths) + 1 else None

    access = eventually(written, "each access line is an entry", 20)
    lines = [json.loads(entry["MESSAGE"]) for entry in access]
    assert [line["path"] for line in lines] == [*paths, "/closed"]
    process = unit_process(root, "gatehouse")
    for entry in access:
        assert entry["PRIORITY"] == "6" and entry["_SYSTEMD_UNIT"] == "gatehouse.service" and entry["_PID"] == process
    audit = eventually(lambda: entries("GATEHOUSE_STREAM=audit"), "the reload is an entry", 20)
    assert json.loads(audit[-1]["MESSAGE"])["message"] == "configuration reloaded"
    serving = next(entry for entry in entries("GATEHOUSE_STREAM=process") if '"serving"' in entry["MESSAGE"])
    assert json.loads(serving["MESSAGE"])["stream"] == "process"
    root.run("systemctl", "stop", "gatehouse")


def test_an_upgrade_refuses_no_connection(root, configuration, ports):
    """The sockets stay open while the old program ends and the new one starts; every request has its response."""
    install(root.boot())
    configure(root, configuration, ports)
    root.run("systemctl", "enable", "--now", "gatehouse.socket", "gatehouse-activated")
    ready(ports)
    load, kept = Load(ports[0], clients=8, each=1), Load(ports[0], clients=4)
    try:
        eventually(lambda: load.count > 50, "the load runs")
        for number in (2, 1, 2):
            process = unit_process(root, "gatehouse-activated")
            install(root, number)
            assert unit_process(root, "gatehouse-activated") not in (process, "0"), "the new program runs"
            done = load.count
            eventually(lambda: load.count > done + 50, "the load goes on", 20)
    finally:
        load.end()
        kept.end()
    assert load.failed == [] and kept.failed == []
    assert load.refused == kept.refused == 0
    assert status(root, "gatehouse-activated") == "active"


def test_a_changed_configuration_survives_an_upgrade(root, configuration, ports):
    install(root.boot())
    configure(root, configuration, ports)
    install(root, 2)
    assert json.loads(root.run("cat", "/etc/gatehouse/providers.yaml").stdout) == configuration


def test_removed_it_stops_and_purged_it_leaves_its_user_only(root, configuration, ports):
    """`remove` keeps configuration and state, `purge` removes what the package and the gateway have created."""
    root.boot().shell(
        "apt-get install --no-install-recommends $(dpkg-deb --field gatehouse_*.deb Depends | tr , '\\n' |"
        " sed 's/ *\\([^ |]*\\).*/\\1/')", "/srv/1"
    )
    clean = root.files()
    install(root)
    configure(root, configuration, ports)
    root.run("systemctl", "enable", "--now", "gatehouse.socket", "gatehouse-activated")
    ready(ports)

    root.run("apt-get", "remove", "--yes", "gatehouse")
    assert {status(root, unit) for unit in deb.UNITS} == {"inactive"}
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{ports[1]}/readyz", timeout=5)
    root.run("test", "-e", "/etc/gatehouse/providers.yaml", "-a", "-e", "/var/lib/gatehouse/sessions.db")

    root.run("apt-get", "purge", "--yes", "gatehouse")
    left = root.files() - clean - KEPT_FILES
    made_by_hand = {"/etc/systemd/system/gatehouse.socket.d", "/etc/systemd/system/gatehouse.socket.d/addresses.conf"}
    assert left - made_by_hand == set()
    assert "gatehouse:" in root.run("getent", "passwd", "gatehouse").stdout
