// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import GateWire

@Suite struct ManagedFieldsTests {
    /// As the products' documents spell them.
    @Test(arguments: [
        "OIDC_CLAIM_email", "OIDC-CLAIM-sub", "OIDC_access_token", "MELLON_name", "CAS-displayName", "X-Consumer-ID",
        "X-Consumer-Groups", "X-Credential-Identifier", "X-Authenticated-Scope", "X-Anonymous-Consumer", "X-Userinfo",
        "X-ID-Token", "Teleport-Jwt-Assertion", "X-Forwarded-Client-Cert", "X-Forwarded-Tls-Client-Cert-Info",
        "x-envoy-peer-metadata", "sec-istio-auth-userinfo", "x-jwt-payload", "l5d-client-id", "X-Endpoint-API-UserInfo",
        "X-Apigateway-Api-Userinfo", "X-Appengine-User-Email", "X-Goog-Authenticated-User-Id", "x-amzn-oidc-data",
        "x-amzn-ava-user-context", "X-Amzn-Mtls-Clientcert-Subject", "X-MS-CLIENT-PRINCIPAL-IDP",
        "X-MS-TOKEN-AAD-ID-TOKEN", "MS-ASPNETCORE-WINAUTHTOKEN", "X-ARR-ClientCert", "Cf-Access-Jwt-Assertion",
        "Cf-Client-Cert-Sha256", "CF-Connecting-IPv6", "Tailscale-User-Name", "Ngrok-Auth-User-Id",
        "Sf-Context-Current-User", "Shib-Session-ID", "SHIB_MAIL", "AJP_eppn", "eppn", "unscoped-affiliation",
        "persistent-id", "eduPersonPrincipalName", "displayName", "mail", "Impersonate-User",
        "Impersonate-Extra-scopes",
        "X-Remote-Extra-acme", "kubeflow-userid", "Argocd-User-Groups", "X-Scope-OrgID", "THANOS-TENANT",
        "Remote-Groups", "X-authentik-meta-app", "X-Pomerium-Claim-Name", "X-Auth-Request-Groups", "X-WEBAUTH-ORG",
        "X-Proxy-User", "x-proxy-roles", "x-proxy-ext-department", "es-security-runas-user",
        "opendistro_security_impersonate_as", "opensearch_security_impersonate_as", "X-Vouch-IdP-Claims-Groups",
        "X-Token-User-Email", "X-SSO-User", "X-ProxiedEntitiesChain", "X-ProxiedEntityGroups", "X-Knox-Actor-ID",
        "Client-Cert", "Client-Cert-Chain", "X-SSL-Client-S-DN", "SSL_CLIENT_S_DN", "X-Client-Verify",
        "X-TLS-Client-CN",
        "SSLClientCertSubject", "SM_USER", "SM_USERDN", "OAM_REMOTE_USER", "iv-user", "iv_groups", "$WSRU",
        "WL-Proxy-Client-IP", "REMOTE_USER", "AUTH_USER", "LOGON_USER", "Client-IP", "Auth-User", "X-Sandstorm-User-Id",
        "YNH_USER", "X-SP-UserId", "X-RStudio-Username", "X-Alfresco-Remote-User", "LIFERAY_SCREEN_NAME",
    ])
    func `D-01 no client sends an identity field of another product, in any spelling that apps read as the same`(
        _ name: String
    ) {
        let names = FieldNames()
        let regular = name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
        for spelling in [regular, regular.lowercased(), regular.uppercased()] {
            #expect(names.meaning(of: spelling) == .managed, "\(spelling)")
        }
        for character in ["_", ".", "!", "$"] where regular.contains("-") {
            let bytes = Array(regular.replacing("-", with: character).utf8)
            #expect(names.meaning(ofIrregular: bytes.span) == nil, "\(regular) with \(character)")
        }
    }

    @Test(arguments: [
        "User-Agent", "X-User-Agent", "X-Api-Key", "Api-Key", "X-Access-Token", "X-Auth-Token", "X-Auth-Key",
        "Auth-Token",
        "X-JWT-Token", "X-CSRF-Token", "X-XSRF-TOKEN", "X-CSRFToken", "X-Token", "X-HTTP-Method-Override",
        "X-Client-Version", "X-Client-Data", "X-Tenant-Id", "X-Org-Id", "X-Account-Id", "X-Session-Id", "X-Device-Id",
        "X-Correlation-Id", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256", "X-Amzn-Trace-Id",
        "X-Ms-Date",
        "X-Ms-Version", "X-Ms-Client-Request-Id", "X-Ms-Blob-Type", "X-Grafana-Org-Id", "X-Grafana-Device-Id",
        "X-Trino-User", "X-Hasura-Role", "X-GitHub-Event", "X-Gitlab-Token", "X-Hub-Signature-256", "X-Atlassian-Token",
        "X-Plex-Token", "X-Emby-Authorization", "X-Vault-Token", "X-Consul-Token", "X-Redmine-API-Key", "X-Goog",
        "X-B3-TraceId",
        "OCS-APIRequest", "Private-Token", "access-token", "uid", "client", "expiry", "token-type", "Title", "Tags",
        "Depth", "Overwrite", "Timeout", "If-Match", "SOAPAction", "Service-Worker", "Sec-CH-UA", "Sec-WebSocket-Key",
        "Sec-Fetch-Dest", "ngrok-skip-browser-warning", "X-Proxy", "Proxy-User", "HTTP-Referer", "Mcp-Session-Id",
        "Last-Event-ID",
        "X-Clacks-Overhead", "OIDC", "Auth", "Remote", "Shib", "Impersonate", "X-Consumer",
    ])
    func `D-01 what ordinary clients send has no meaning`(_ name: String) {
        for spelling in [name, name.lowercased(), name.uppercased()] {
            #expect(FieldNames().meaning(of: spelling) == .other, "\(spelling)")
        }
    }

    @Test func `D-01 each prefix covers what follows it, whatever its first letters are`() {
        let names = FieldNames(alsoManaged: ["X-9-User", "9x-User", "-x-User"])
        for prefix in ManagedFields.prefixes + ["x-9-", "9x-", "-x-"] {
            #expect(names.meaning(of: prefix) == .managed, "\(prefix)")
            #expect(names.meaning(of: prefix + "Zz9") == .managed, "\(prefix)")
        }
    }

    @Test func `D-01 every name by which apps take a user is one that clients cannot send`() {
        for name in ManagedFields.all.flatMap(\.users) {
            #expect(FieldNames().meaning(of: name) == .managed, "\(name)")
        }
    }

    @Test func `the document has the table of the names that are removed`() throws {
        let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        let text = try String(contentsOf: tests.appending(path: "../../docs/headers.md"), encoding: .utf8)
        let rows = ManagedFields.all.map { family in
            let names = family.names.map { "`\($0.replacing("*", with: "…"))`" }.joined(separator: ", ")
            return "| \(family.source.prefix(1).uppercased())\(family.source.dropFirst()) | \(names) |\n"
        }
        let head = "| set or read by | removed |\n|---|---|\n"
        #expect(text.contains(head + rows.joined()), "docs/headers.md lacks this table:\n\(head)\(rows.joined())")
    }
}
