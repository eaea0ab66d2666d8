// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePages

@Suite struct PagesTests {
    private let pages = Pages()
    private let english = PageLanguage.builtIn[0]

    /// All pages, with one text for each value.
    private func all(_ text: String, in pages: Pages, _ language: PageLanguage) throws -> [String] {
        var eve = Profile(provider: "staff", issuer: "https://id.staff.example", subject: text)
        (eve.name, eve.email, eve.username, eve.groups) = (text, "\(text)@example.org", text, [text])
        let user = PageContext.User(eve, provider: text, isSignedIn: true)
        let button = PageButton(address: text, label: .fixed(text), picture: text, isUnavailable: true)
        let app = AppsView.App(
            name: text,
            address: text,
            description: text,
            group: text,
            icon: text,
            neededProviders: [text]
        )
        let apps = AppsView(apps: [app], search: text, hasMore: true, offersSearch: true)
        let now = Instant(seconds: 0)
        let session = AccountView.Session(id: text, device: text, began: now, used: now, isHere: false)
        var account = AccountView(
            sessions: [session],
            ends: AccountView.End(at: now, idle: .seconds(60)),
            hasMore: true,
            hasEnded: true,
            actions: (end: text, signOut: text)
        )
        account.limitedApps = [(app: text, until: now)]
        let consent = ConsentView(
            client: text,
            apps: [text],
            action: text,
            field: (text, text),
            choice: (text, text, text)
        )
        let discovery = SignInView.Discovery(action: text, target: text, unknownEmail: text)
        let signIn = SignInView(buttons: [button], app: (text, text), discovery: discovery)
        let links = Pages.AppsLinks(search: text, account: text, signOut: text)
        let page = try #require(Failure.Page.all.first { $0.name == "access_denied" })
        let error = Pages.ErrorView(page, app: text, code: text, incident: text, user: user, buttons: [button])
        return [
            pages.signIn(signIn, in: language), pages.error(error, in: language),
            pages.signOut(action: text, user: user, offersEverywhere: true, in: language),
            pages.signedOut(address: text, remark: .atProvider(text, includesOthers: true), in: language),
            pages.apps(apps, user: user, links: links, in: language),
            pages.account(account, of: eve, provider: text, apps: text, in: language),
            pages.consent(consent, target: text, user: user, in: language),
            pages.device(action: text, remark: .deviceUnknown, in: language),
            pages.deviceConsent(consent, code: text, user: user, in: language),
            pages.deviceDone(client: text, isAllowed: true, in: language),
        ]
    }

    @Test(arguments: ["<i>", "\"><script>", "'><b>", "\u{0600}<i>", "&lt;", "{{user}}"])
    func `values in pages are escaped`(text: String) throws {
        let plain = try self.all("plain", in: self.pages, self.english)
        for (page, expected) in zip(try self.all(text, in: self.pages, self.english), plain) {
            func tags(_ page: String) -> Int { page.utf8.count { $0 == UInt8(ascii: "<") } }
            func quotes(_ page: String) -> Int { page.utf8.count { $0 == UInt8(ascii: "\"") } }
            #expect(tags(page) == tags(expected) && quotes(page) == quotes(expected))
            #expect(!page.contains("&lt;") || text != "&lt;" || page.contains("&amp;lt;"))
        }
    }

    private func account(idle: Duration = .seconds(3600)) -> AccountView {
        let ends = AccountView.End(at: Instant(seconds: 1_790_000_000), idle: idle)
        return AccountView(
            sessions: nil,
            ends: ends,
            hasMore: false,
            hasEnded: false,
            actions: (end: "/e", signOut: "/s")
        )
    }

    @Test(
        arguments: [
            (30, "1 min"), (5400, "1 h 30 min"), (43_200, "12 h"), (1_209_600, "14 d"), (90_060, "1 d 1 h 1 min"),
        ] as [(Int64, String)]
    )
    func `M-05 the account page shows when the session ends`(idle: Int64, text: String) {
        let profile = Profile(provider: "acme", issuer: "https://acme.example", subject: "eve")
        let view = self.account(idle: .seconds(idle))
        let page = self.pages.account(view, of: profile, provider: "Acme", apps: "/", in: self.english)
        #expect(page.contains("2026-09-21 14:13 UTC") && page.contains("or after \(text) without a request"))
        #expect(!page.contains("<img class=\"picture\""))
    }

    @Test func `M-05 the account page shows the picture, and the browser sends no referrer with it`() {
        var profile = Profile(provider: "acme", issuer: "https://acme.example", subject: "eve")
        profile.picture = "https://pictures.example/eve.png?a=1&b=2"
        let page = self.pages.account(self.account(), of: profile, provider: "Acme", apps: "/", in: self.english)
        #expect(page.contains("src=\"https://pictures.example/eve.png?a=1&amp;b=2\"") && page.contains("no-referrer"))
    }

    @Test func `D-05 the account page shows the key that apps get, also where accounts are connected`() {
        func page(_ profile: Profile) -> String {
            self.pages.account(self.account(), of: profile, provider: "Acme", apps: "/", in: self.english)
        }
        var profile = Profile(provider: "acme", issuer: "https://acme.example", subject: "eve")
        #expect(page(profile).contains("acme:eve"))
        profile.connectedKey = "first:ada"
        #expect(page(profile).contains("first:ada") && !page(profile).contains("acme:eve"))
    }

    @Test func `the pages of apps and of the account show when an access ends`() {
        let end = Instant(seconds: 1_798_736_400)
        let apps = [
            AppsView.App(
                name: "Wiki",
                address: "/",
                description: nil,
                group: nil,
                icon: nil,
                neededProviders: [],
                until: end
            ),
            AppsView.App(name: "Desk", address: "/", description: nil, group: nil, icon: nil, neededProviders: []),
        ]
        let profile = Profile(provider: "acme", issuer: "https://acme.example", subject: "eve")
        let page = self.pages.apps(
            AppsView(apps: apps, search: nil, hasMore: false, offersSearch: false),
            user: PageContext.User(profile, provider: "Acme", isSignedIn: true),
            links: Pages.AppsLinks(search: "/s", account: "/a", signOut: "/o"),
            in: self.english
        )
        #expect(page.contains("<strong>Wiki</strong><small>Until 2026-12-31 17:00 UTC</small>"))
        #expect(page.contains("<strong>Desk</strong></span>"))
        let session = AccountView.End(at: end, idle: .seconds(60))
        var view = AccountView(
            sessions: nil,
            ends: session,
            hasMore: false,
            hasEnded: false,
            actions: (end: "/e", signOut: "/s")
        )
        func account() -> String {
            self.pages.account(view, of: profile, provider: "Acme", apps: "/", in: self.english)
        }
        #expect(!account().contains("Apps for a limited time"))
        view.limitedApps = [(app: "Wiki", until: end)]
        #expect(account().contains("<li>Wiki <small>Until 2026-12-31 17:00 UTC</small></li>"))
    }

    @Test func `no page leaves a variable without a value`() throws {
        for language in PageLanguage.builtIn {
            for page in try self.all("plain", in: self.pages, language) {
                #expect(
                    !page.contains("{{") && !page.contains("{app}") && page.contains("<html lang=\"\(language.tag)\"")
                )
            }
        }
    }

    @Test func `a page has no script, no style and nothing of other hosts`() throws {
        for page in try self.all("plain", in: self.pages, self.english) {
            #expect(!page.contains("<script") && !page.contains("style=") && !page.contains("https://"))
            #expect(page.contains("<meta name=\"robots\" content=\"noindex, nofollow\">") && page.utf8.count < 12 << 10)
        }
    }

    @Test func `a provider that does not respond is shown as such`() {
        let button = PageButton(address: "/a", label: .provider("Acme"), isUnavailable: true)
        let view = SignInView(buttons: [button], app: nil, discovery: nil)
        let page = self.pages.signIn(view, in: self.english)
        #expect(page.contains("Sign in with Acme <small>Not responding right now</small>"))
    }

    @Test func `apps are listed without a heading first, and those of another sign-in last`() throws {
        func app(_ name: String, group: String?, needs: [String] = []) -> AppsView.App {
            AppsView.App(
                name: name,
                address: "/",
                description: nil,
                group: group,
                icon: nil,
                neededProviders: needs
            )
        }
        let apps = [
            app("One", group: "Tools"), app("Two", group: nil), app("Three", group: nil, needs: ["Acme"]),
            app("Four", group: "Tools"),
        ]
        let user = PageContext.User(
            Profile(provider: "p", issuer: "https://p.example", subject: "1"),
            provider: "P",
            isSignedIn: true
        )
        let page = self.pages.apps(
            AppsView(apps: apps, search: nil, hasMore: false, offersSearch: false),
            user: user,
            links: Pages.AppsLinks(search: "/s", account: "/a", signOut: "/o"),
            in: self.english
        )
        let order = ["Two", "Tools", "One", "Four", "With another sign-in", "Three", "Needs Acme"]
        let places = try order.map { try #require(page.firstRange(of: ">\($0)<")?.lowerBound) }
        #expect(places == places.sorted())
    }
}

@Suite struct PageLanguageTests {
    @Test(arguments: PageLanguage.builtIn.map(\.tag))
    func `each language has all texts, with the variables of the English ones`(tag: String) throws {
        let english = PageLanguage.builtIn[0]
        let language = try #require(PageLanguage.builtIn.first { $0.tag == tag })
        for name in PageLanguage.names {
            let (own, original) = (try #require(language.texts[name]), try #require(english.texts[name]))
            #expect(!own.source.isEmpty && own.names.sections == original.names.sections, "\(name)")
            #expect(own.names.variables.union(["app"]) == original.names.variables.union(["app"]), "\(name)")
        }
        let tables = ["de": PageText.german, "fr": PageText.french, "es": PageText.spanish, "en": PageText.english]
        #expect(Set(try #require(tables[tag]).keys) == Set(PageText.allCases))
        let pages = [
            "de": Failure.Page.german, "fr": Failure.Page.french, "es": Failure.Page.spanish,
            "en": Failure.Page.english,
        ]
        #expect(Set(try #require(pages[tag]).keys) == Set(Failure.Page.all.map(\.name)))
    }

    @Test func `each page of the catalogue has a name of its own`() {
        let names = Failure.Page.all.map(\.name)
        #expect(Set(names).count == names.count)
        for reason in Failure.Reason.allCases { #expect(names.contains(reason.entry.page.name)) }
    }

    @Test(
        arguments: [
            (nil, "en"), ("", "en"), ("de", "de"), ("de-AT,de;q=0.8", "de"), ("pt,fr;q=0.5,de;q=0.9", "de"),
            ("fr;q=0,de;q=0.1", "de"), ("*", "en"), ("xx, *;q=0.5, de;q=0.4", "de"), ("DE", "de"), ("de;q=2", "en"),
            ("de;q=x, fr", "fr"), (",,;;,de", "de"), (String(repeating: "xx,", count: 200) + "de", "en"),
        ] as [(String?, String)]
    )
    func `the browser chooses the language`(header: String?, tag: String) {
        #expect(Pages().language(for: header).tag == tag)
    }

    @Test func `a text of the operator replaces one and may have its variables only`() throws {
        let language = try PageLanguage(tag: "de", with: ["sign_in_with": "Weiter mit {{provider}}"])
        #expect(language.html(.signInWith, ["provider": "A&B"]) == "Weiter mit A&amp;B")
        #expect(language.html(.signOut) == "Abmelden")
        let error = #expect(throws: PageTextError.self) {
            try PageLanguage(tag: "de", with: ["sign_in_with": "{{user}}"])
        }
        #expect(error?.message == "it has the variable 'user'; there are 'provider'")
    }

    @Test(arguments: [
        "{{{provider}}}", "{{& provider}}", "{{&provider}}", "{{>x}}", "{{=<% %>=}}", "{{% CONTENT_TYPE:TEXT}}",
        "{{<x}}",
    ])
    func `a text of the operator cannot insert bytes unescaped`(text: String) {
        #expect(throws: PageTextError.self) { try PageLanguage(tag: "en", with: ["sign_in_with": text]) }
    }

    @Test func `a language that the gateway does not have begins with English`() throws {
        let language = try PageLanguage(tag: "ar", with: ["sign_in": "تسجيل الدخول"])
        #expect(language.isRightToLeft && language.html(.signOut) == "Sign out")
        #expect(language.html(.signIn) == "تسجيل الدخول")
    }
}

@Suite struct PageSettingsTests {
    private static let svg = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)

    private func pages(_ change: (inout PageSettings) -> Void, files: [String: String] = [:]) throws -> Pages {
        var settings = PageSettings()
        change(&settings)
        return try Pages(
            settings,
            icons: [],
            files: FileAccess { path, limit in
                guard let text = files[path] else { return .missing }
                return text.utf8.count > limit ? .tooLarge : .bytes(Array(text.utf8))
            }
        )
    }

    private func signIn(_ pages: Pages) -> String {
        pages.signIn(SignInView(buttons: [], app: nil, discovery: nil), in: pages.languages[0])
    }

    @Test func `organization, logo and support are on each page`() throws {
        let pages = try self.pages(
            {
                ($0.organization, $0.logo, $0.support) = ("A&B", "/logo.svg", "help@example.com")
            },
            files: ["/logo.svg": String(decoding: Self.svg, as: UTF8.self)]
        )
        let page = self.signIn(pages)
        let address = try #require(pages.address(ofPicture: "/logo.svg"))
        #expect(
            page.contains("<title>Sign in · A&amp;B</title>")
                && page.contains("<img src=\"\(address)\" alt=\"A&amp;B\">")
        )
        #expect(page.contains("<a href=\"mailto:help@example.com\">help@example.com</a>"))
        #expect(pages.pictures.map(\.bytes) == [Self.svg] && address == "/oauth2/pictures/\(pages.pictures[0].name)")
    }

    @Test func `a template of the operator replaces one`() throws {
        let pages = try self.pages(
            { $0.templates = "/t" },
            files: ["/t/sign_in.mustache": "<p class=own>{{t.sign_out}}{{organization}}</p>"]
        )
        #expect(self.signIn(pages).contains("<p class=own>Sign out</p>"))
    }

    @Test(
        arguments: [
            ("{{{app}}}", "/t/sign_in.mustache:1:1: '{{{app}}' would insert bytes unescaped; write {{name}}"),
            ("{{content}}", "/t/sign_in.mustache:1:1: it has the variable 'content'; "),
            ("a\nb {{t.sign_inn}}", "/t/sign_in.mustache:2:3: it has the variable 't.sign_inn'; "),
            ("{{#title}}{{.}}{{/title}}", "/t/sign_in.mustache:1:1: it has the section 'title'; "),
            ("{{.}}", "/t/sign_in.mustache:1:1: it has the variable '.'; "),
            ("a\n{{#buttons}}x", "/t/sign_in.mustache:2:"),
        ]
    )
    func `a template with a mistake is rejected with its place`(text: String, message: String) {
        let failure = #expect(throws: Failure.self) {
            try self.pages({ $0.templates = "/t" }, files: ["/t/sign_in.mustache": text])
        }
        #expect(failure?.detail.hasPrefix(message) == true, "\(failure?.detail ?? "")")
    }

    @Test func `a folder without any template is a mistake`() {
        #expect(throws: Failure.self) { try self.pages({ $0.templates = "/t" }) }
    }

    @Test func `colors and styles follow those of the gateway`() throws {
        let pages = try self.pages(
            { ($0.accent, $0.style) = ("#0b7a5b", "/own.css") },
            files: ["/own.css": "h1 { color: red }"]
        )
        #expect(pages.style.hasPrefix(Pages.sheet) && pages.style.contains("--accent: #0b7a5b"))
        #expect(pages.style.hasSuffix("h1 { color: red }"))
    }

    @Test(
        arguments: [
            (Array("\u{FEFF} <?xml version=\"1.0\"?><svg/>".utf8), .svg), (Array("x <svg/>".utf8), nil),
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png), ([0xFF, 0xD8, 0xFF, 0xE0], .jpeg),
            (Array("RIFF0000WEBP".utf8), .webp), (Array("RIFF0000WAVE".utf8), nil), (Array("<html>".utf8), nil),
            ([], nil), (Array("GIF89a".utf8), nil), (Array("<svg>".utf8) + [0xFF], nil),
        ] as [([UInt8], PictureFormat?)]
    )
    func `pictures have one of four formats`(bytes: [UInt8], format: PictureFormat?) {
        #expect(PictureFormat(bytes) == format)
    }

    @Test(arguments: [("#ffffff", 21.0), ("#000000", 1.0), ("#767676", 4.62)])
    func `contrast is that of WCAG`(color: String, expected: Double) throws {
        let (color, other) = (try #require(PageColor(color)), try #require(PageColor("#000000")))
        #expect(abs(color.contrast(to: other) - expected) < 0.01)
    }
}

@Suite struct ErrorPageTests {
    @Test(
        arguments: [
            (.openIDAttemptLost, [.signInAgain]), (.openIDAttemptExpired, [.signInAgain]),
            (.sessionTransferCode, [.signInAgain]), (.requestHeaderName, []),
            (.policyRefused, [.otherAccount, .signOut, .showApps]),
            (.policyGroupsUnknown, [.signInAgain, .signOut, .showApps]),
            (.providerDenied, [.otherAccount]), (.requestCrossSite, []),
            (.providerUnavailable, [.signInAgain]), (.upstreamUnreachable, [.signInAgain, .showApps]),
            (.sessionNone, [.signIn]), (.routeNone, [.showApps]),
        ] as [(Failure.Reason, [PageText])]
    )
    func `a user is offered what they can do`(reason: Failure.Reason, texts: [PageText]) throws {
        let gate = try #require(Origin(scheme: "https", host: "gate.example.com"))
        let buttons = PageContext().buttons(for: Failure(reason, ""), at: gate)
        #expect(buttons.map(\.label) == texts.map(PageButton.Label.text))
        #expect(buttons.allSatisfy { $0.address.hasPrefix("https://gate.example.com/oauth2/") })
    }

    @Test(
        arguments: [.requestTarget, .wireTooSlow, .wireTargetTooLong, .wireHeadTooLarge, .requestMethodUnknown]
            as [Failure.Reason]
    )
    func `a rejected message has a page without steps`(reason: Failure.Reason) {
        let page = reason.entry.page
        #expect(!page.title(for: nil).isEmpty && !page.text(for: nil).isEmpty && page.steps.isEmpty)
    }
}
