# SPDX-License-Identifier: Apache-2.0
"""The same requests beside Envoy, whose oauth2 filter signs users in as well."""

import json
import time
from contextlib import contextmanager

from client import Browser
from load import Place
from measure import ratio, rounds
from processes import Skip, free_ports
from report import Row, microseconds

from .protocols import requests

TYPES = "type.googleapis.com/envoy.extensions"


def secret(environment, name, value):
    kind = f"{TYPES}.transport_sockets.tls.v3.Secret"
    text = {"resources": [{"@type": kind, "name": name, "generic_secret": {"secret": {"inline_string": value}}}]}
    path = environment.write(f"envoy-{name}.yaml", json.dumps(text))
    return {"name": name, "sds_config": {"path_config_source": {"path": str(path)}}}


def cluster(name, port):
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    places = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    return {"name": name, "type": "STATIC", "load_assignment": {"cluster_name": name, "endpoints": places}}


def oauth2(environment, port):
    issuer = f"http://127.0.0.1:{environment.provider_port}/mock"
    own = f"http://127.0.0.1:{port}"
    credentials = {
        "client_id": "bench", "token_secret": secret(environment, "token", "secret"), "hmac_secret":
            secret(environment, "hmac", "a key that only a benchmark has!")
    }
    return {
        "@type": f"{TYPES}.filters.http.oauth2.v3.OAuth2", "config": {
            "token_endpoint": {"cluster": "provider", "uri": f"{issuer}/token", "timeout": "3s"},
            "authorization_endpoint": f"{issuer}/authorize", "redirect_uri": f"{own}/callback",
            "redirect_path_matcher": {"path": {"exact": "/callback"}},
            "signout_path": {"path": {"exact": "/signout"}}, "forward_bearer_token": True,
            "auth_scopes": ["openid", "email", "profile"], "credentials": credentials
        }
    }


def configuration(environment, port):
    fields = {"x-forwarded-user": "mock:ada", "x-forwarded-email": "ada@example.com"}
    added = [{"header": {"key": name, "value": value}} for name, value in fields.items()]
    route = {"match": {"prefix": "/"}, "route": {"cluster": "app"}, "request_headers_to_add": added}
    filters = [
        {"name": "envoy.filters.http.oauth2", "typed_config": oauth2(environment, port)},
        {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}
    ]
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "bench",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]}, "http_filters":
            filters
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    clusters = [cluster("app", environment.app_port), cluster("provider", environment.provider_port)]
    resources = {"listeners": [{"address": address, "filter_chains": [chain]}], "clusters": clusters}
    return {"node": {"id": "bench", "cluster": "bench"}, "static_resources": resources}


@contextmanager
def running(environment):
    """An Envoy in front of the app, and the cookies of a user who signed in there."""
    port, = free_ports(1)
    file = environment.write("envoy.yaml", json.dumps(configuration(environment, port)))
    more = ["--concurrency", 1, "--base-id", time.time_ns() % 30000, "-l", "error"]
    child = environment.children.start("envoy", [environment.options.envoy, "-c", file, *more], environment.measured)
    try:
        child.wait_listening(port)
        with Browser(port) as browser:
            browser.sign_in()
            yield child, Place(port, cookies=(browser.cookie, ))
    finally:
        environment.children.stop(child)


def oauth2_filter(environment):
    """authenticated HTTP/1.1 beside Envoy's oauth2 filter; needs --envoy"""
    if not environment.options.envoy:
        raise Skip("no Envoy was named with --envoy")
    with environment.gateway() as gateway, running(environment) as (child, place):
        subjects = {
            "envoy": requests(environment, child.pid, place), "ours": requests(environment, gateway.pid, gateway.place())
        }
        found = rounds(subjects, environment.options.rounds)
    ours, envoy = found["ours"], found["envoy"]
    yield Row(
        "envoy", "HTTP/1.1, CPU for each request; both sign users in", microseconds(ours.cost),
        f"Envoy's oauth2 filter {microseconds(envoy.cost)}", ratio(envoy.costs, ours.costs), "times ours", least=2.9
    )
