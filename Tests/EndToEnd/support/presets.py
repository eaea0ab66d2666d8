# SPDX-License-Identifier: Apache-2.0
"""The headers of the presets, which test_identity_formats.py compares with what apps get."""

#: What apps of each preset read, and the field of the profile that it is.
PRESETS = {
    "grafana":
        {
            "X-WEBAUTH-USER": "user", "X-WEBAUTH-EMAIL": "email", "X-WEBAUTH-NAME": "name", "X-WEBAUTH-GROUPS": "groups"
        },
    "jenkins": {"X-Forwarded-Mail": "email", "X-Forwarded-DisplayName": "name"},
    "kibana": {"X-Proxy-User": "user", "X-Proxy-Roles": "groups"},
    "pomerium":
        {
            "X-Pomerium-Jwt-Assertion": "assertion", "X-Pomerium-Claim-Email": "email", "X-Pomerium-Claim-User": "user",
            "X-Pomerium-Claim-Groups": "groups", "X-Pomerium-Claim-Name": "name",
        },
    "iap":
        {
            "X-Goog-Authenticated-User-Email": "google:email", "X-Goog-Authenticated-User-Id": "google:user",
            "X-Goog-IAP-JWT-Assertion": "assertion",
        },
    "cloudflare": {"Cf-Access-Authenticated-User-Email": "email", "Cf-Access-Jwt-Assertion": "assertion"},
    "remote-user": {"Remote-User": "user", "Remote-Email": "email", "Remote-Name": "name", "Remote-Groups": "groups"},
}
