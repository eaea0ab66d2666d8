# SPDX-License-Identifier: Apache-2.0
"""The same requests through an nginx that asks the gateway before it forwards them."""

from dataclasses import replace

from load import Place
from measure import ratio, rounds
from processes import free_ports
from report import Row, microseconds

from .protocols import requests

#: The app about which nginx asks; a gateway signs users in at its other apps.
APP = {"host": "127.0.0.1", "path": "/front", "providers": ["mock"], "allow": "signed_in", "forward_auth": "enforce"}
#: What nginx copies from the response, as in deploy/forward-auth/nginx.conf.
IDENTITY = {
    "Cookie": "cookie", "X-Forwarded-User": "x_forwarded_user", "X-Forwarded-Email": "x_forwarded_email",
    "X-Forwarded-Name": "x_forwarded_name", "X-Forwarded-Preferred-Username": "x_forwarded_preferred_username",
    "X-Forwarded-Groups": "x_forwarded_groups", "X-Forwarded-Provider": "x_forwarded_provider",
    "X-Gatehouse-Assertion": "x_gatehouse_assertion",
}


def server(environment, port, gateway):
    """The nginx that asks."""
    taken = "".join(f"auth_request_set $got_{field} $upstream_http_{field};" for field in IDENTITY.values())
    given = "".join(f"proxy_set_header {name} $got_{field};" for name, field in IDENTITY.items())
    kept = "keepalive 256; keepalive_requests 1000000000;"
    http = """proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header Host $http_host;"""
    return f"""
        upstream app {{ server 127.0.0.1:{environment.app_port}; {kept} }}
        upstream gatehouse {{ server 127.0.0.1:{gateway.port}; {kept} }}
        server {{ listen 127.0.0.1:{port} backlog=4096;
            location / {{ auth_request /gatehouse-auth; {taken} proxy_pass http://app; {http} {given} }}
            location = /gatehouse-auth {{ internal; proxy_pass http://gatehouse/oauth2/auth; proxy_pass_request_body off;
                proxy_set_header Content-Length ""; {http} proxy_set_header X-Original-Method $request_method;
                proxy_set_header X-Original-URL $scheme://$host$request_uri; proxy_buffer_size 32k;
                proxy_buffers 4 32k; proxy_busy_buffers_size 64k; }}
        }}"""


def auth_request(environment):
    """HTTP/1.1 through an nginx that asks the gateway, CPU of both, beside nginx that only proxies"""
    settings = {"dialect": "nginx", "from": ["127.0.0.1"]}
    with environment.gateway(apps={"front": APP}, more={"forward_auth": settings}) as gateway:
        port, = free_ports(1)
        name = f"nginx{next(environment.names)}"
        child = environment.nginx(name, environment.measured, server(environment, port, gateway))
        child.wait_listening(port)
        place = Place(port, cookies=(gateway.cookie, ), path="/front/page")
        beside = environment.beside
        try:
            subjects = {
                "nginx": requests(environment, beside.pid, replace(beside.place(), path=place.path)),
                "both": requests(environment, [child.pid, gateway.pid], place),
            }
            found = rounds(subjects, environment.options.rounds)
        finally:
            environment.children.stop(child)
    both, nginx = found["both"], found["nginx"]
    yield Row(
        "forward-auth", "HTTP/1.1, CPU of nginx and gateway for each request; nginx asks with auth_request",
        f"{microseconds(both.cost)}, {both.rate:.0f}/s", f"nginx {microseconds(nginx.cost)}, {nginx.rate:.0f}/s",
        ratio(both.costs, nginx.costs), "of nginx"
    )
