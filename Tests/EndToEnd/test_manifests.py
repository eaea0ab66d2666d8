# SPDX-License-Identifier: Apache-2.0
"""What operators copy from deploy/ for containers: the manifests of Kubernetes and the file of Compose."""

import os
import re
import subprocess

import kubernetes_validate
import pytest
import requests
import yaml
from compose_spec import PyCompose

from support.gateway import PROGRAM, SECRET, Gateway, oidc
from support.processes import REPOSITORY, free_port
from support.redis import Redis

DEPLOY = REPOSITORY / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes/gatehouse.yaml").read_text()))
#: The version of Kubernetes whose schemas the manifests have to match; older ones know the same fields.
KUBERNETES = "1.31"
#: The end of the warning of `check` about hosts that the operator has to replace.
EXAMPLE_HOSTS = "for examples, which browsers cannot open; write your own"
COMPOSE = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())


def manifest(kind, name="gatehouse"):
    return next(one for one in MANIFESTS if one["kind"] == kind and one["metadata"]["name"] == name)


def pod(workload):
    return workload["spec"]["template"]["spec"]


WORKLOADS = [manifest("Deployment"), manifest("StatefulSet", "gatehouse-redis")]
CONTAINER = pod(WORKLOADS[0])["containers"][0]
CONFIGURATION = manifest("ConfigMap")["data"]["providers.yaml"]


# Kubernetes


@pytest.mark.parametrize("one", MANIFESTS, ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_each_manifest_is_valid(one):
    """By the schemas of Kubernetes, in which unknown fields are errors."""
    kubernetes_validate.validate(one, KUBERNETES, strict=True)


def test_a_wrong_manifest_is_found():
    """The validator is not silent."""
    wrong = {**manifest("Service"), "spec": {**manifest("Service")["spec"], "portz": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one["kind"])
def test_pods_match_the_restricted_standard(workload):
    """Pod Security Standards: not root, nothing writable but volumes, no capability, no token of the cluster."""
    spec = pod(workload)
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] and context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_selectors_find_their_pods_and_ports_their_names():
    labels = {name: one["spec"]["template"]["metadata"]["labels"] for one in WORKLOADS for name in [one["metadata"]["name"]]}
    ports = {
        one["metadata"]["name"]: {port["name"] for port in pod(one)["containers"][0]["ports"]} for one in WORKLOADS
    }
    for service in (one for one in MANIFESTS if one["kind"] == "Service"):
        name = service["metadata"]["name"]
        assert service["spec"]["selector"] == labels[name]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports[name]
    for policy in (one for one in MANIFESTS if one["kind"] == "NetworkPolicy"):
        assert policy["spec"]["podSelector"]["matchLabels"] == labels[policy["metadata"]["name"]]
        assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels["gatehouse"]


def test_one_gateway_may_be_missing_and_the_others_serve():
    """A node can be drained: the budget allows it, and an update starts the new pod first."""
    deployment = manifest("Deployment")["spec"]
    assert 0 < manifest("PodDisruptionBudget")["spec"]["minAvailable"] < deployment["replicas"]
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_a_pod_has_the_time_to_drain():
    drain = yaml.safe_load(CONFIGURATION)["gateway"]["drain"]
    seconds = sum(int(value.removesuffix("s")) for value in drain.values())
    assert pod(WORKLOADS[0])["terminationGracePeriodSeconds"] > seconds
    timeouts = re.findall(r"TimeoutStopSec=(\d+)", (DEPLOY / "gatehouse.service").read_text())
    assert int(COMPOSE["services"]["gatehouse"]["stop_grace_period"].removesuffix("s")) == int(timeouts[0])


@pytest.fixture(scope="module")
def running(tmp_path_factory, provider_server):
    """A gateway with the configuration of the ConfigMap, on loopback, with the Redis of the manifest."""
    folder = tmp_path_factory.mktemp("pod")
    database = Redis(folder / "redis", *redis_arguments("a password"))
    keys = folder / "keys"
    keys.mkdir()
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                    keys / "assertion.pem"], check=True, capture_output=True)
    # As the volume of a Secret: root's, readable by the group of the pod.
    group = pod(WORKLOADS[0])["securityContext"]["fsGroup"]
    if os.geteuid() == 0:
        os.chown(keys / "assertion.pem", 0, group)
        (keys / "assertion.pem").chmod(pod(WORKLOADS[0])["volumes"][1]["secret"]["defaultMode"])
    wrapper = ["setpriv", f"--regid={group}", "--clear-groups"] if os.geteuid() == 0 else []
    port, operations = free_port(), free_port()
    realm = provider_server.realm("pod")
    configuration = yaml.safe_load(
        CONFIGURATION.replace("0.0.0.0:8080", f"127.0.0.1:{port}").replace("/etc/gatehouse-keys", str(keys))
    )
    configuration["gateway"]["state"] = str(folder / "state")
    configuration["providers"] = {"mock": oidc(realm.issuer)}
    configuration["apps"] = {"wiki": {"host": "wiki.example.com", "upstream": "http://127.0.0.1:9", "allow": "signed_in"}}
    gateway = Gateway(folder, {}, {}, port=port, operations=operations)
    gateway.configuration = configuration
    database.start()
    try:
        environment = variables(operations, f"redis://:a%20password@127.0.0.1:{database.port}/0")
        gateway.start(env=environment, wrapper=wrapper)
        yield gateway
        gateway.stop()
    finally:
        database.end()


def redis_arguments(password):
    arguments = pod(WORKLOADS[1])["containers"][0]["args"]
    kept = [one.replace("$(REDIS_PASSWORD)", password) for one in arguments]
    return [one for index, one in enumerate(kept) if one != "--dir" and kept[index - 1] != "--dir"]


def variables(operations, store):
    """The environment of the pod: what the manifest sets, and the variables of the Secret."""
    address = next(one["value"] for one in CONTAINER["env"] if one["name"] == "OPERATIONS")
    given = {"OPERATIONS": address.replace("$(POD_IP)", "127.0.0.1").replace("9901", str(operations))}
    return {**given, "GATEWAY_SECRET": SECRET, "SESSION_STORE": store, "GOOGLE_CLIENT_SECRET": "a secret"}


def test_each_probe_of_the_pod_succeeds(running):
    paths = {name: CONTAINER[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert {name: running.operation(path).status_code for name, path in paths.items()} == dict.fromkeys(paths, 200)


def test_prometheus_reads_the_metrics_by_the_address_of_the_pod(running):
    """Its `Host` is the IP address of the pod, and the chart's ServiceMonitor names port and path."""
    monitor = (DEPLOY / "kubernetes/chart/templates/servicemonitor.yaml").read_text()
    path = re.search(r"path: (\S+)", monitor)[1]
    assert "port: operations" in monitor
    assert requests.get(f"http://127.0.0.1:{running.operations}{path}", timeout=5).status_code == 200


def test_gateways_share_the_keys_of_the_secret(running):
    """The key that is mounted signs, and no other is added."""
    keys = requests.get(
        f"http://127.0.0.1:{running.port}/oauth2/jwks.json", headers={"Host": "gate.example.com"}, timeout=5
    ).json()["keys"]
    assert len(keys) == 1


def check(text, tmp_path, environment):
    path = tmp_path / "providers.yaml"
    path.write_text(text)
    command = [PROGRAM, "check", "--config", path]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_the_configuration_of_the_manifests_passes_the_check(tmp_path):
    """With no other warning than that of the hosts to replace, and exactly the variables that the page on installation puts
    into the Secret."""
    environment = variables(9901, "redis://:password@gatehouse-redis:6379/0")
    named = set(re.findall(r"\$\{env:(\w+)\}", CONFIGURATION))
    assert named == set(environment)
    result = check(CONFIGURATION.replace("/etc/gatehouse-keys", str(tmp_path)), tmp_path, environment)
    warnings = re.findall(r"(?:warning|error): (.*)", result.stderr)
    assert result.returncode == 0 and len(warnings) == 1 and warnings[0].endswith(EXAMPLE_HOSTS), result.stderr
    page = (REPOSITORY / "docs/install.md").read_text()
    assert named - {"OPERATIONS"} | {"REDIS_PASSWORD"} == set(re.findall(r"--from-literal=(\w+)=", page))


# Compose


def test_compose_reads_the_file():
    """By a parser of the specification, after the variables have been replaced."""
    text = re.sub(r"\$\{GATEHOUSE_VERSION:[^}]*\}", "0.1.0", (DEPLOY / "compose/compose.yaml").read_text())
    PyCompose.from_yaml(text).validate()
    with pytest.raises(ValueError):
        PyCompose.from_yaml(text.replace("read_only: true", "read_only: perhaps"))


def test_the_container_is_restricted():
    service = COMPOSE["services"]["gatehouse"]
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"] and service["ulimits"]["core"] == 0
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_configuration_for_compose_passes_the_check(tmp_path):
    """It warns of the hosts to replace, and of the operations listener, which the container publishes on loopback only."""
    (tmp_path / "google").write_text("a secret of the provider")
    (tmp_path / "google").chmod(0o600)
    text = (DEPLOY / "compose/providers.yaml").read_text()
    result = check(text.replace("/run/secrets/", f"{tmp_path}/"), tmp_path, {})
    assert result.returncode == 0, result.stderr
    warnings = re.findall(r"(?:warning|error): (.*)", result.stderr)
    assert len(warnings) == 2 and warnings[0].startswith("'0.0.0.0:9901'") and warnings[1].endswith(EXAMPLE_HOSTS), result.stderr
    mounted = {volume.split(":")[1] for volume in COMPOSE["services"]["gatehouse"]["volumes"]}
    assert mounted == {"/etc/gatehouse/providers.yaml", yaml.safe_load(text)["gateway"]["state"]}
    assert set(COMPOSE["secrets"]) == set(re.findall(r"/run/secrets/(\w+)", text))
