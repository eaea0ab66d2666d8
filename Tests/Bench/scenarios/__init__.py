# SPDX-License-Identifier: Apache-2.0
"""The scenarios by name, in the order of the table. Each gets the servers and returns rows."""

from . import bodies, envoy, flat, forward_auth, handshakes, idle, latency, loops, observed, passwords, posts, protocols, rules, sign_ins, start, tokens

ALL = {
    "h1": protocols.h1,
    "h1-tls": protocols.h1_tls,
    "h2-tls": protocols.h2_tls,
    "envoy": envoy.oauth2_filter,
    "forward-auth": forward_auth.auth_request,
    "latency": latency.half_load,
    "routes": flat.routes,
    "rules": rules.ten_each,
    "tokens": tokens.beside_sessions,
    "sessions": flat.sessions,
    "many-sessions": flat.many_sessions,
    "providers": flat.providers,
    "idle": idle.connections,
    "bodies": bodies.large,
    "posts": posts.small,
    "sign-ins": sign_ins.whole,
    "passwords": passwords.beside_hash,
    "handshakes": handshakes.full,
    "loops": loops.two,
    "access-log": observed.access_log,
    "tracing": observed.tracing,
    "before": observed.before,
    "start": start.first_response,
}
