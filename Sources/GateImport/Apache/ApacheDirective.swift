// SPDX-License-Identifier: Apache-2.0

/// What becomes of a directive of mod_auth_openidc; docs/migration/mod_auth_openidc.md has the same table.
enum ApacheDirective {
    /// The directives that are carried over.
    static let carried: Set<String> = [
        "oidcprovidermetadataurl", "oidcproviderissuer", "oidcclientid", "oidcclientsecret", "oidcredirecturi",
        "oidcscope", "oidcsessioninactivitytimeout", "oidcsessionmaxduration", "oidcuserinforefreshinterval",
        "oidcproviderauthorizationendpoint", "oidcprovidertokenendpointauth", "oidcresponsemode",
        "oidcauthrequestparams", "oidccabundlepath", "oidcoutgoingproxy", "oidcremoteuserclaim", "oidcauthnheader",
        "oidcrediscacheserver", "oidcrediscachepassword", "oidccachetype", "oidccryptopassphrase",
    ]

    /// Those that have no meaning here, with the reason.
    private static let needless: [String: String] = [
        "oidccookie": "the cookie is __Host-gatehouse, so both can run side by side",
        "oidccookiepath": "cookies are for all paths of a host",
        "oidccookiehttponly": "cookies are always HttpOnly",
        "oidccookiesamesite": "cookies are SameSite=Lax",
        "oidcsessiontype": "sessions are in 'sessions.store'",
        "oidccacheshmmax": "sessions are in 'sessions.store'",
        "oidccacheshmentrysizemax": "sessions are in 'sessions.store'",
        "oidccachedir": "sessions are in 'sessions.store'",
        "oidccacheencrypt": "stored sessions are always sealed",
        "oidcstatetimeout": "a sign-in expires after 10 minutes",
        "oidcstatemaxnumberofcookies": "at most five sign-ins of a browser are in progress",
        "oidcpkcemethod": "PKCE with S256 is the default; 'pkce' changes that",
        "oidcresponsetype": "the code flow is used",
        "oidcprovidertokenendpoint": "the provider's metadata name it",
        "oidcprovideruserinfoendpoint": "the provider's metadata name it",
        "oidcproviderjwksuri": "the provider's metadata name it",
        "oidcproviderendsessionendpoint": "the provider's metadata name it",
        "oidcunauthaction": "scripts get 401 with JSON, page navigations a redirect; see docs/headers.md",
        "oidcunautzaction": "users without access get 403",
        "oidcdefaultloggedouturl": "a sign-out ends on a page of the gateway",
        "oidchtmlerrortemplate": "templates of pages are not supported yet",
        "oidcstripcookies": "the gateway's own cookies never reach apps",
        "oidcrefreshaccesstokenbeforeexpiry": "sessions are confirmed by 'recheck'",
        "oidcidtokeniatslack": "ID tokens must be of the last ten minutes",
        "oidcxforwardedheaders": "'trusted_proxies' names the proxies whose X-Forwarded-* are trusted",
    ]

    /// The note for a directive; nil if it is carried over.
    static func note(for name: String) -> (text: String, isLost: Bool)? {
        if self.carried.contains(name) { return nil }
        if let reason = self.needless[name] { return ("is not needed: \(reason)", false) }
        let lost = [
            (
                "oidcoauth",
                "for bearer tokens of clients write 'issuers', and 'machines' of the app; see docs/machines.md"
            ),
            ("oidcpassclaimsas", "claims are sent as X-Forwarded-* and in X-Gatehouse-Assertion"),
            ("oidcclaimprefix", "claims are sent as X-Forwarded-* and in X-Gatehouse-Assertion"),
            (
                "oidcclaimdelimiter",
                "groups are separated by commas; 'identity.group_separator' of the app changes that"
            ),
            (
                "oidcpassidtokenas",
                "'identity: { authorization: id_token }' of the app sends the ID token as a bearer token"
            ),
            (
                "oidcpassaccesstoken",
                "'identity: { authorization: access_token }' of the app sends the access token as a bearer token"
            ),
            ("oidcpassrefreshtoken", "refresh tokens stay in the gateway, which refreshes the other tokens with them"),
            ("oidcpassuserinfoas", "claims are sent as X-Forwarded-* and in X-Gatehouse-Assertion"),
            ("oidcsslvalidateserver", "providers are always verified; write 'tls: { ca_file: … }'"),
            ("oidcmetadatadir", "several providers from a folder are not read; write each under 'providers'"),
            ("oidcpublickeyfiles", "write 'private_key' of the provider"),
            ("oidcprivatekeyfiles", "write 'private_key' of the provider"),
        ]
        if let found = lost.first(where: { name.hasPrefix($0.0) }) { return ("is not carried over: \(found.1)", true) }
        return ("is unknown and not carried over", true)
    }
}
