// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What becomes of a directive of mod_auth_openidc; docs/migration/mod_auth_openidc.md has the same table.
enum ApacheDirective {
    /// The directives that are carried over.
    static let carried: Set<String> = [
        "oidcprovidermetadataurl", "oidcproviderissuer", "oidcclientid", "oidcclientsecret", "oidcredirecturi",
        "oidcscope", "oidcsessioninactivitytimeout", "oidcsessionmaxduration", "oidcuserinforefreshinterval",
        "oidcproviderauthorizationendpoint", "oidcprovidertokenendpointauth", "oidcresponsemode",
        "oidcauthrequestparams", "oidccabundlepath", "oidcoutgoingproxy", "oidcremoteuserclaim", "oidcauthnheader",
        "oidcrediscacheserver", "oidcrediscachepassword", "oidccachetype", "oidccryptopassphrase", "oidcpassclaimsas",
        "oidcclaimprefix", "oidcclaimdelimiter", "oidcwhitelistedclaims", "oidcblacklistedclaims",
    ]

    /// Those that narrow which users have which claims, or sign-ins for some paths, and the reason.
    private static let narrowing: [String: String] = [
        "oidcfilterclaimsexpr": "rules compare claims that it changes",
        "oidcuserinfoclaimsexpr": "rules compare claims that it changes",
        "oidcdiscoverissuersallowed": "it limits the providers",
        "oidcpathauthrequestparams": "it asks for another sign-in for some paths",
        "oidcpathscope": "it asks for another sign-in for some paths",
    ]

    /// Parameters of sign-ins that are hints, and no condition.
    private static let hints: Set<String> = [
        "prompt", "login_hint", "ui_locales", "display", "kc_idp_hint", "domain_hint", "access_type", "audience",
        "include_granted_scopes",
    ]

    /// Whether leaving a directive out could admit users whom Apache denies.
    static func narrows(_ node: ApacheNode) -> Bool {
        switch node.name {
        // A second argument is an expression that the claim has to match.
        case "oidcremoteuserclaim": node.arguments.count != 1
        case "oidcauthrequestparams":
            (node.arguments.first ?? "").split(separator: "&").contains { pair in
                let name = String(pair.prefix { $0 != "=" })
                return !self.hints.contains(name) && !(name == "acr_values" && !pair.contains("%"))
            }
        default: self.narrowing[node.name] != nil || self.note(for: node.name).map(\.isUnknown) == true
        }
    }

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
        "oidchtmlerrortemplate": "pages have templates of their own; see docs/pages.md",
        "oidccachefilecleaninterval": "sessions are in 'sessions.store'",
        "oidcsessioncookiechunksize": "sessions are in 'sessions.store'",
        "oidcsessioncachefallbacktocookie": "sessions are in 'sessions.store'",
        "oidcmemcacheservers": "sessions are in 'sessions.store'",
        "oidcmemcacheconnectionsmin": "sessions are in 'sessions.store'",
        "oidcmemcacheconnectionssmax": "sessions are in 'sessions.store'",
        "oidcmemcacheconnectionshmax": "sessions are in 'sessions.store'",
        "oidcmemcacheconnectionsttl": "sessions are in 'sessions.store'",
        "oidcrediscacheconnecttimeout": "sessions are in 'sessions.store'",
        "oidcrediscachetimeout": "sessions are in 'sessions.store'",
        "oidccookiedomain": "each host has its own cookie; see docs/hosts.md",
        "oidcstatecookieprefix": "the cookie is __Host-gatehouse, so both can run side by side",
        "oidcstateinputheaders": "each sign-in has its own cookie",
        "oidchttptimeoutlong": "calls of providers have limits of their own",
        "oidchttptimeoutshort": "calls of providers have limits of their own",
        "oidcjwksrefreshinterval": "keys are fetched again when they change",
        "oidcprovidermetadatarefreshinterval": "metadata are fetched again when they change",
        "oidcproviderbackchannellogoutsupported": "see docs/sign-out.md for what providers can end",
        "oidcproviderchecksessioniframe": "see docs/sign-out.md for what providers can end",
        "oidcproviderrevocationendpoint": "the provider's metadata name it",
        "oidcvalidateissuer": "the issuer of ID tokens is always verified",
        "oidcuserinfotokenmethod": "userinfo is read with the access token in a header",
        "oidcredirecturlsallowed": "after a sign-in or sign-out the browser stays on hosts of the gateway",
        "oidclogoutxframeoptions": "pages of the gateway are not framed",
        "oidclogoutrequestparams": "a sign-out sends what the provider's metadata ask for",
        "oidcclientname": "clients are registered at the provider by hand",
        "oidcclientcontact": "clients are registered at the provider by hand",
        "oidcdebugmasksecrets": "logs have no secrets",
        "oidcmetricsdata": "metrics are on the operations listener",
        "oidcmetricspublish": "metrics are on the operations listener",
        "oidctraceparent": "see docs/tracing.md",
        "oidcprofile": "each check of the profile has a key of its own",
        "oidcstripcookies": "the gateway's own cookies never reach apps",
        "oidcrefreshaccesstokenbeforeexpiry": "sessions are confirmed by 'recheck'",
        "oidcidtokeniatslack": "ID tokens must be of the last ten minutes",
        "oidcxforwardedheaders": "'trusted_proxies' names the proxies whose X-Forwarded-* are trusted",
    ]

    /// A note about a directive.
    struct Note {
        let text: String
        /// Whether something is missing in the result.
        let isLost: Bool
        /// Whether the directive is not known, so that it may narrow access.
        var isUnknown = false
    }

    /// The note for a directive; nil if it is carried over.
    static func note(for name: String) -> Note? {
        if self.carried.contains(name) { return nil }
        if let reason = self.needless[name] { return Note(text: "is not needed: \(reason)", isLost: false) }
        if let reason = self.narrowing[name] { return Note(text: "is not carried over: \(reason)", isLost: true) }
        let lost = [
            (
                "oidcoauth",
                "for bearer tokens of clients write 'issuers', and 'machines' of the app; see docs/machines.md"
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
            ("oidcproviderverifycertfiles", "keys come from the provider's metadata"),
            ("oidcprovidersignedjwksuri", "keys come from the provider's metadata"),
            ("oidcproviderregistrationendpointjson", "register the client at the provider by hand"),
            ("oidcproviderauthrequestmethod", "sign-ins begin with a redirect"),
            ("oidcproviderpushedauthorizationrequestendpoint", "sign-ins begin with a redirect"),
            ("oidcrequestobject", "sign-ins begin with a redirect"),
            ("oidcprovidertokenendpointparams", "no further parameters are sent"),
            ("oidcdpopmode", "access tokens are not bound to a key"),
            ("oidccertboundaccesstokens", "see docs/machines.md for the tokens of clients"),
            ("oidcclienttokenendpoint", "write 'private_key' and 'client_authentication: private_key_jwt'"),
            ("oidcclientjwksuri", "write 'private_key' of the provider"),
            ("oidcidtoken", "the signature and the audience of ID tokens are always verified"),
            ("oidcuserinfosigned", "userinfo is read as JSON or as a signed token"),
            ("oidcuserinfoencrypted", "encrypted userinfo is not read"),
            ("oidcdiscoverurl", "the gateway has its own page for the choice of a provider"),
            ("oidcdefaulturl", "a failed sign-in ends on a page of the gateway"),
            (
                "oidcinfohook",
                "the session of the user is at \(EndpointPrefix.standard.path("userinfo")) and in the assertion"
            ),
            ("oidcpreservepost", "a form that is sent after the session has ended is not kept"),
            ("oidcpasscookies", "providers get no cookies"),
            ("oidcrediscachedatabase", "write it in the URL of 'sessions.store'"),
            ("oidcrediscacheusername", "write it in the URL of 'sessions.store'"),
            ("oidcpublickeyfiles", "write 'private_key' of the provider"),
            ("oidcprivatekeyfiles", "write 'private_key' of the provider"),
        ]
        if let found = lost.first(where: { name.hasPrefix($0.0) }) {
            return Note(text: "is not carried over: \(found.1)", isLost: true)
        }
        return Note(text: "is unknown and not carried over", isLost: true, isUnknown: true)
    }
}
