// SPDX-License-Identifier: Apache-2.0

/// The request fields of one kind of product or server, from which an app could take a user, a client IP or another path.
///
/// They are removed from what clients send, on every route. docs/headers.md has the same table.
package struct ManagedFields: Sendable {
    /// Which products set or read the fields.
    package let source: String
    /// The names; one that ends with `*` is a prefix.
    package let names: [String]
    /// Those from which apps take a user.
    package let users: [String]

    private init(_ source: String, _ names: [String], users: [String] = []) {
        self.source = source
        self.names = names
        self.users = users
    }

    /// The whole names, in lower case.
    static let spellings = ManagedFields.all.flatMap(\.names).filter { !$0.hasSuffix("*") }.map(FieldSpelling.regular)

    /// The prefixes of names, in lower case.
    static let prefixes = ManagedFields.all.flatMap(\.names).filter { $0.hasSuffix("*") }.map {
        FieldSpelling.regular(String($0.dropLast()))
    }

    /// Names with these prefixes that carry a secret which the app verifies itself, so that they cannot be forged.
    static let credentials = ["x-auth-token", "x-auth-key", "auth-token", "auth-key", "x-jwt-token"]

    /// The table, each name once.
    package static let all = [
        ManagedFields("this gateway", ["X-Gatehouse-*"]),
        ManagedFields(
            "proxies, for the client's IP, scheme and host",
            [
                "X-Forwarded-*", "X-Forwarded", "Forwarded-For", "X-Real-IP", "X-Client-IP", "Client-IP",
                "X-Cluster-Client-IP", "True-Client-IP", "X-True-Client-IP", "X-ProxyUser-IP", "Proxy-Client-IP",
                "X-Originating-IP", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Host", "Proxy",
            ],
            users: ["X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Preferred-Username"]
        ),
        ManagedFields(
            "servers that prefer another path or URL to that of the request line",
            [
                "X-Original", "X-Original-*", "X-Rewrite-*", "X-Script-Name", "Script-Name", "X-Path-Info", "Path-Info",
                "X-Override-Url", "X-Real-Url", "Request-Uri", "X-Waws-Unencoded-Url", "X-Http-DestinationUrl",
                "X-Accel-*", "X-Sendfile-Type", "X-Middleware-Subrequest*",
            ]
        ),
        ManagedFields(
            "CGI, PHP and IIS; Authelia, Tinyauth, LemonLDAP::NG",
            [
                "Remote-*", "Auth-*", "Logon-User", "Unmapped-Remote-User", "Redirect-Remote-User", "HTTP-Remote-User",
                "PHP-Auth-*",
            ],
            users: ["Remote-User", "Auth-User"]
        ),
        ManagedFields(
            "examples in the documents of nginx, Traefik, Caddy and of many apps",
            [
                "X-User", "X-Username", "X-UserId", "X-User-Id", "X-User-Name", "X-User-Login", "X-User-Email",
                "X-User-Info", "X-User-Claims", "X-User-Groups", "X-User-Role", "X-User-Roles", "X-Email", "Email",
                "X-Groups", "X-Role", "X-Roles", "X-OIDC-*",
            ],
            users: ["X-User", "X-Email"]
        ),
        ManagedFields(
            "oauth2-proxy, Keycloak Gatekeeper",
            ["X-Auth-*"],
            users: ["X-Auth-Request-User", "X-Auth-Request-Email"]
        ),
        ManagedFields("Caddy Security", ["X-Token-*"], users: ["X-Token-Subject"]),
        ManagedFields("authentik", ["X-Authentik-*"], users: ["X-Authentik-Username"]),
        ManagedFields("Vouch Proxy", ["X-Vouch-*"], users: ["X-Vouch-User"]),
        ManagedFields("Pomerium", ["X-Pomerium-*"], users: ["X-Pomerium-Claim-Email"]),
        ManagedFields(
            "Kong, Apache APISIX",
            [
                "X-Consumer-*", "X-Credential-*", "X-Authenticated-*", "X-Anonymous-Consumer", "X-Userinfo",
                "X-ID-Token",
            ],
            users: ["X-Consumer-Username"]
        ),
        ManagedFields("MuleSoft", ["X-AGW-*"]),
        ManagedFields("Ory", ["X-Kratos-*"]),
        ManagedFields("Teleport", ["Teleport-*"]),
        ManagedFields("Envoy, Istio, Linkerd", ["X-Envoy-*", "X-Istio-*", "Sec-Istio-*", "X-JWT-*", "L5d-*"]),
        ManagedFields(
            "Kubernetes, Kubeflow, Argo CD",
            ["Impersonate-*", "X-Remote-*", "Kubeflow-*", "Argocd-Username", "Argocd-User-*"],
            users: ["X-Remote-User", "Kubeflow-Userid"]
        ),
        ManagedFields("Cortex, Mimir, Loki, Tempo, Thanos", ["X-Scope-OrgID", "THANOS-TENANT"]),
        ManagedFields("Grafana, Gitea", ["X-WEBAUTH-*", "X-Grafana-User", "X-Grafana-Id"], users: ["X-WEBAUTH-USER"]),
        ManagedFields(
            "OpenSearch, Elasticsearch",
            ["X-Proxy-*", "X-Opendistro-*", "Opendistro_Security_*", "OpenSearch_Security_*", "SG_*", "ES-Security-*"],
            users: ["X-Proxy-User"]
        ),
        ManagedFields(
            "Google Cloud",
            ["X-Goog-*", "X-Endpoint-API-*", "X-Apigateway-API-*", "X-Appengine-*"],
            users: ["X-Goog-Authenticated-User-Email"]
        ),
        ManagedFields(
            "Amazon Web Services",
            ["X-Amzn-Oidc-*", "X-Amzn-Ava-*", "X-Amzn-Mtls-*", "X-Amzn-Request-Context", "X-Amzn-Lambda-Context"],
            users: ["X-Amzn-Oidc-Identity"]
        ),
        ManagedFields(
            "Microsoft Azure, IIS",
            [
                "X-MS-Client-Principal*", "X-MS-Token-*", "X-ARR-*", "MS-ASPNETCORE-*", "X-Azure-ClientIP",
                "X-Azure-SocketIP", "X-Azure-FDID",
            ],
            users: ["X-MS-Client-Principal-Name"]
        ),
        ManagedFields(
            "Cloudflare",
            ["Cf-Access-*", "CF-Connecting-*", "Cf-Client-Cert-*", "Cf-Cert-*", "Cf-Pseudo-IPv4"],
            users: ["Cf-Access-Authenticated-User-Email"]
        ),
        ManagedFields(
            "Fastly, Fly.io, Netlify, Vercel, DigitalOcean",
            [
                "Fastly-Client*", "Fly-Client-IP", "X-NF-*", "X-Vercel-Forwarded-*", "X-Vercel-Proxied-*",
                "X-Vercel-OIDC-*", "DO-Connecting-IP",
            ]
        ),
        ManagedFields("Tailscale", ["Tailscale-*"], users: ["Tailscale-User-Login"]),
        ManagedFields("ngrok", ["Ngrok-Auth-*"], users: ["Ngrok-Auth-User-Email"]),
        ManagedFields("Snowflake", ["Sf-Context-*"], users: ["Sf-Context-Current-User"]),
        ManagedFields(
            "Shibboleth",
            [
                "Shib-*", "AJP-*", "EPPN", "Affiliation", "Primary-Affiliation", "Unscoped-Affiliation", "Entitlement",
                "Assurance", "Targeted-Id", "Persistent-Id", "Transient-Name", "Pairwise-Id", "Subject-Id",
                "EduPerson*", "Schac*", "CN", "CommonName", "SN", "Surname", "GivenName", "DisplayName", "Mail",
                "OrganizationName",
            ],
            users: ["EPPN"]
        ),
        ManagedFields(
            "mod_auth_openidc, mod_auth_mellon, mod_auth_cas",
            ["OIDC-*", "Mellon-*", "CAS-*"],
            users: ["OIDC-CLAIM-email"]
        ),
        ManagedFields(
            "SiteMinder, Oracle Access Manager, IBM Verify, WebSphere, WebLogic",
            ["SM-*", "OAM-*", "OSSO-*", "IV-*", "$WS*", "WL-Proxy-*"],
            users: ["SM-User", "IV-User"]
        ),
        ManagedFields("YunoHost, Sandstorm", ["YNH-*", "X-Sandstorm-*"], users: ["YNH-User"]),
        ManagedFields(
            "Posit, ShinyProxy, Streamlit",
            ["X-RStudio-Username", "RStudio-Connect-*", "Posit-Connect-*", "X-SP-*", "X-Streamlit-User"],
            users: ["X-RStudio-Username"]
        ),
        ManagedFields(
            "Nexus, NiFi, Knox, Alfresco, Liferay",
            ["X-SSO-*", "X-ProxiedEntit*", "X-Knox-*", "X-Alfresco-Remote-*", "Liferay-*"],
            users: ["X-SSO-User"]
        ),
        ManagedFields(
            "client certificates: RFC 9440, nginx, HAProxy, F5",
            [
                "Client-Cert*", "X-Client-Cert*", "X-Client-Verify*", "X-Client-DN", "X-Client-S-DN", "X-Client-I-DN",
                "X-Client-Subject*", "X-Client-Issuer*", "X-Client-SAN*", "X-Client-Fingerprint*", "X-Client-Serial*",
                "X-MTLS-*", "X-SSL", "X-SSL-*", "X-TLS-*", "SSL-*", "SSLClientCert*",
            ],
            users: ["X-SSL-Client-S-DN"]
        ),
    ]
}
