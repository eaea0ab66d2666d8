// SPDX-License-Identifier: Apache-2.0

/// The directives of Apache that cannot narrow access, so that leaving them out admits no further request.
///
/// A directive that is neither here nor read by a converter denies the whole host.
/// https://httpd.apache.org/docs/2.4/mod/directives.html
enum HarmlessDirective {
    private static let core: Set<String> = [
        "acceptpathinfo", "addcharset", "adddefaultcharset", "addencoding", "addhandler", "addlanguage",
        "addoutputfilter", "addoutputfilterbytype", "addtype", "alias", "aliasmatch", "allowencodedslashes", "authname",
        "browsermatch", "browsermatchnocase", "cgimapextension", "contentdigest", "customlog", "define",
        "directoryindex", "directoryslash", "documentroot", "enablemmap", "enablesendfile", "errordocument", "errorlog",
        "errorlogformat", "expiresactive", "expiresbytype", "expiresdefault", "fallbackresource", "fileetag",
        "forcetype", "group", "hostnamelookups", "indexignore", "indexoptions", "jkmount", "keepalive",
        "keepalivetimeout", "languagepriority", "limitrequestbody", "limitrequestfields", "limitrequestfieldsize",
        "limitrequestline", "listen", "loadmodule", "logformat", "loglevel", "maxconnectionsperchild",
        "maxkeepaliverequests", "maxrequestsperchild", "maxrequestworkers", "maxsparethreads", "mergeslashes",
        "minsparethreads", "mimemagicfile", "mutex", "namevirtualhost", "options", "passenv", "php_admin_flag",
        "php_admin_value", "php_flag", "php_value", "pidfile", "protocols", "protocolshonororder",
        "removehandler", "removetype", "requestreadtimeout", "scriptalias", "scriptaliasmatch", "serveradmin",
        "serverlimit", "serverpath", "serverroot", "serversignature", "servertokens", "setenv", "setenvif",
        "setenvifexpr", "setenvifnocase", "sethandler", "setinputfilter", "setoutputfilter", "startservers",
        "substitute", "substitutemaxlinelength", "suexecusergroup", "threadlimit", "threadsperchild", "timeout",
        "traceenable", "transferlog", "typesconfig", "unsetenv", "usecanonicalname", "usecanonicalphysicalport",
        "user", "h2direct", "h2push", "h2upgrade", "h2earlyhints", "h2maxsessionstreams", "deflatecompressionlevel",
        "deflatebuffersize", "deflatememlevel", "deflatewindowsize", "xbithack",
    ]
    private static let proxy: Set<String> = [
        "balancermember", "proxyaddheaders", "proxybadheader", "proxyerroroverride", "proxyfcgibackendtype",
        "proxyhtmlbufsize", "proxyhtmlcharsetout", "proxyhtmldoctype", "proxyhtmlenable", "proxyhtmlevents",
        "proxyhtmlextended", "proxyhtmlfixups", "proxyhtmlinterp", "proxyhtmllinks", "proxyhtmlmeta",
        "proxyhtmlstripcomments", "proxyhtmlurlmap", "proxyiobuffersize", "proxymaxforwards", "proxypassreverse",
        "proxypassreversecookiedomain", "proxypassreversecookiepath", "proxyreceivebuffersize", "proxyset",
        "proxysourceaddress", "proxystatus", "proxytimeout", "proxyvia", "proxywebsocketfallbacktoproxyhttp",
        "wsgiapplicationgroup", "wsgidaemonprocess", "wsgipassauthorization", "wsgiprocessgroup", "wsgipythonhome",
        "wsgipythonpath", "wsgiscriptalias", "wsgiscriptaliasmatch", "wsgiscriptreloading", "wsgisocketprefix",
    ]
    private static let tls: Set<String> = [
        "sslcacertificatefile", "sslcacertificatepath", "sslcarevocationcheck", "sslcarevocationfile",
        "sslcarevocationpath", "sslcertificatechainfile", "sslcertificatefile", "sslcertificatekeyfile",
        "sslciphersuite", "sslcompression", "sslcryptodevice", "sslengine", "sslhonorcipherorder", "sslocspenable",
        "sslopensslconfcmd", "ssloptions", "sslpassphrasedialog", "sslprotocol", "sslproxycacertificatefile",
        "sslproxycacertificatepath", "sslproxycheckpeercn", "sslproxycheckpeerexpire", "sslproxycheckpeername",
        "sslproxyciphersuite", "sslproxyengine", "sslproxymachinecertificatefile", "sslproxyprotocol",
        "sslproxyverify", "sslproxyverifydepth", "sslrandomseed", "sslrequiressl", "sslsessioncache",
        "sslsessioncachetimeout", "sslsessionticketkeyfile", "sslsessiontickets", "sslstaplingcache",
        "sslstaplingfaketrylater", "sslstaplingrespondertimeout", "sslstaplingreturnrespondererrors",
        "sslusestapling", "sslverifydepth",
    ]
    /// Those that matter only to sign-ins of other kinds, or to rules that are not carried over.
    private static let otherSignIns: Set<String> = [
        "authbasicauthoritative", "authbasicprovider", "authgroupfile", "authuserfile", "authzsendforbiddenonfailure",
    ]
    /// The conditions of rewriting belong to the rule after them.
    private static let rewriting: Set<String> = [
        "rewritebase", "rewritecond", "rewriteengine", "rewritemap", "rewriteoptions",
    ]
    /// Where the client IP comes from; a rule that compares it is then not carried over.
    static let clientIP: Set<String> = [
        "remoteipheader", "remoteipinternalproxy", "remoteipinternalproxylist", "remoteipproxiesheader",
        "remoteipproxyprotocol", "remoteiptrustedproxy", "remoteiptrustedproxylist",
    ]
    private static let all = core.union(proxy).union(tls).union(otherSignIns).union(rewriting).union(clientIP)

    /// Sections that only define what other directives name.
    private static let definitions: Set<String> = ["macro", "authnprovideralias", "authzprovideralias"]

    /// Those whose only harmless value is their default, or has no effect.
    private static let harmlessValues: [String: Set<String>] = [
        "allowoverride": ["none"], "allowoverridelist": ["none"], "authmerging": ["off"], "proxyrequests": ["off"],
        "satisfy": ["all"], "sslverifyclient": ["none"],
    ]

    /// Whether a directive cannot narrow access, whatever else is in the file.
    static func contains(_ node: ApacheNode) -> Bool {
        if node.children != nil { return self.definitions.contains(node.name) }
        if self.all.contains(node.name) { return true }
        let values = node.arguments.map { $0.lowercased() }
        if let harmless = self.harmlessValues[node.name] { return values.count == 1 && harmless.contains(values[0]) }
        switch node.name {
        // What certbot adds to each host: settings of TLS.
        case "include", "includeoptional": return values.last?.hasSuffix("/letsencrypt/options-ssl-apache.conf") == true
        case "redirectmatch": return self.redirectsRoot(node.arguments)
        default: return false
        }
    }

    /// Whether only `/` is redirected, to another path of the host, whose rules then hold.
    private static func redirectsRoot(_ arguments: [String]) -> Bool {
        let statuses = ["301", "302", "303", "307", "308", "permanent", "temp", "seeother"]
        let rest = statuses.contains(arguments.first?.lowercased() ?? "") ? arguments.dropFirst() : arguments[...]
        guard rest.count == 2, let pattern = rest.first, let target = rest.last else { return false }
        return ["^/$", "^/?$"].contains(pattern) && target.hasPrefix("/") && !target.hasPrefix("//")
    }

    /// Whether `Order` and `Allow` of one section admit all clients, as in files that older versions read too.
    static func admitAll(_ nodes: [ApacheNode]) -> Bool {
        let rules = nodes.filter { ["order", "allow", "deny"].contains($0.name) }
        let texts = rules.map { $0.text.lowercased() }
        let orders: Set = ["order allow,deny", "order deny,allow"]
        return texts.contains("allow from all") && texts.allSatisfy { $0 == "allow from all" || orders.contains($0) }
    }
}
