// SPDX-License-Identifier: Apache-2.0

// The templates of the program. Texts are below `t`; every value is escaped, and texts and contents are templates themselves.
extension Pages {
    static let builtIn: [PageName: PageTemplate] = [
        .frame: frame, .signIn: signIn, .signOut: signOut, .signedOut: signedOut, .error: error, .apps: apps,
        .account: account, .consent: consent, .device: device, .deviceConsent: deviceConsent, .deviceDone: deviceDone,
    ].merging(accounts) { $1 }.merging(passkeyTemplates) { $1 }.merging(connectedTemplates) { $1 }

    private static let frame = PageTemplate(
        """
        <!DOCTYPE html>
        <html lang="{{language}}" dir="{{direction}}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex, nofollow">
        <title>{{title}}{{#hasOrganization}} · {{organization}}{{/hasOrganization}}</title>
        <link rel="stylesheet" href="{{style}}">
        <link rel="icon" href="{{icon}}" type="image/svg+xml">
        </head>
        <body>
        <main{{#isWide}} class="wide"{{/isWide}}>
        {{#hasLogo}}<p class="brand"><img src="{{logo}}" alt="{{organization}}"></p>{{/hasLogo}}
        {{^hasLogo}}{{#hasOrganization}}<p class="brand">{{organization}}</p>{{/hasOrganization}}{{/hasLogo}}
        <h1>{{title}}</h1>
        {{content}}
        {{#hasSupport}}<p class="fine">{{t.support}}</p>{{/hasSupport}}
        </main>
        </body>
        </html>

        """
    )

    private static let signIn = PageTemplate(
        """
        {{#hasApp}}<p class="target">{{#hasAppIcon}}<img src="{{appIcon}}" alt="" width="24" height="24"> {{/hasAppIcon}}\
        <span>{{t.chooser_intro}}</span></p>{{/hasApp}}
        {{#hasDroppedLink}}<p>{{t.link_dropped}}</p>{{/hasDroppedLink}}
        {{#isUnknown}}<p role="alert"><strong>{{t.discovery_none}}</strong></p>{{/isUnknown}}
        <ul class="buttons">
        {{#buttons}}
        <li><a class="button" href="{{address}}">{{#hasPicture}}<img src="{{picture}}" alt="" width="20" height="20">{{/hasPicture}}\
        <span>{{text}}{{#isUnavailable}} <small>{{t.unavailable}}</small>{{/isUnavailable}}</span></a></li>
        {{/buttons}}
        </ul>
        {{#offersDiscovery}}
        <form class="more" method="get" action="{{discovery}}">
        <input type="hidden" name="rd" value="{{target}}">
        {{#hasPrompt}}<input type="hidden" name="{{promptName}}" value="{{prompt}}">{{/hasPrompt}}
        <label for="email">{{t.discovery_label}}</label>
        <div class="row">
        <input class="field" id="email" name="email" type="email" required maxlength="254" autocomplete="email" value="{{email}}">
        <button class="button">{{t.continue}}</button>
        </div>
        </form>
        {{/offersDiscovery}}

        """
    )

    private static let signOut = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        <form method="post" action="{{action}}">
        <ul class="buttons">
        <li><button class="button primary">{{t.sign_out}}</button></li>
        {{#everywhere}}
        <li><button class="button" name="{{field}}" value="{{all}}">{{t.sign_out_everywhere}}</button></li>
        {{/everywhere}}
        </ul>
        </form>
        {{#everywhere}}
        <p class="fine">{{t.everywhere_note}}</p>
        {{/everywhere}}

        """
    )

    private static let signedOut = PageTemplate(
        """
        <p>{{#hasOthers}}{{t.signed_out_others}} {{/hasOthers}}{{remark}}</p>
        <p><a class="button" href="{{address}}"><span>{{t.sign_in_again}}</span></a></p>

        """
    )

    private static let error = PageTemplate(
        """
        {{#hasUser}}
        <p>{{#isSignedIn}}{{t.signed_in_as}}{{/isSignedIn}}{{^isSignedIn}}{{t.used_account}}{{/isSignedIn}}</p>
        {{/hasUser}}
        <p>{{text}}</p>
        {{#hasButtons}}
        <ul class="buttons lead">
        {{#buttons}}
        <li><a class="button" href="{{address}}">{{#hasPicture}}<img src="{{picture}}" alt="" width="20" height="20">{{/hasPicture}}\
        <span>{{text}}</span></a></li>
        {{/buttons}}
        </ul>
        {{/hasButtons}}
        <p class="fine">{{t.help}}</p>

        """
    )

    private static let apps = PageTemplate(
        """
        {{#offersSearch}}
        <form class="search" role="search" method="get" action="{{searchAction}}">
        <label class="hidden" for="search">{{t.apps_search}}</label>
        <div class="row">
        <input class="field" id="search" name="q" type="search" maxlength="100" value="{{search}}" placeholder="{{t.apps_search}}">
        <button class="button">{{t.apps_search_button}}</button>
        </div>
        </form>
        {{/offersSearch}}
        {{^hasApps}}
        <p>{{#hasSearch}}{{t.apps_no_match}}{{/hasSearch}}{{^hasSearch}}{{t.apps_none}}{{/hasSearch}}</p>
        {{/hasApps}}
        {{#sections}}
        <section>
        {{#hasHeading}}<h2>{{heading}}</h2>{{/hasHeading}}
        <ul class="apps">
        {{#apps}}
        <li><a class="app" href="{{address}}">
        {{#hasPicture}}<img src="{{picture}}" alt="" width="40" height="40">{{/hasPicture}}\
        {{^hasPicture}}<span class="initial" aria-hidden="true">{{initial}}</span>{{/hasPicture}}
        <span><strong>{{name}}</strong>\
        {{#hasDescription}}<small>{{description}}</small>{{/hasDescription}}\
        {{#ends}}<small>{{t.apps_until}}</small>{{/ends}}\
        {{#needs}}<small>{{t.apps_needs}}</small>{{/needs}}</span></a></li>
        {{/apps}}
        </ul>
        </section>
        {{/sections}}
        {{#hasMore}}<p class="fine">{{t.apps_more}}</p>{{/hasMore}}
        {{#hasSearch}}<p class="more"><a href="{{searchAction}}">{{t.apps_all}}</a></p>{{/hasSearch}}
        <p class="fine">{{t.signed_in_as}} <a href="{{accountAddress}}">{{t.show_account}}</a> · <a href="{{signOut}}">{{t.sign_out}}</a></p>

        """
    )

    private static let account = PageTemplate(
        """
        {{#hasEnded}}<p role="status"><strong>{{t.sessions_ended}}</strong></p>{{/hasEnded}}
        <p>{{t.account_intro}}</p>
        {{#hasPicture}}<img class="picture" src="{{picture}}" alt="" width="64" height="64" referrerpolicy="no-referrer">{{/hasPicture}}
        <dl>
        {{#facts}}
        <div><dt>{{label}}</dt><dd>{{#isCode}}<code>{{value}}</code>{{/isCode}}{{^isCode}}{{value}}{{/isCode}}\
        {{#hasNote}} <small>{{note}}</small>{{/hasNote}}</dd></div>
        {{/facts}}
        <div><dt>{{t.account_ends}}</dt><dd>{{ends}} <small>{{t.account_ends_idle}}</small></dd></div>
        <div><dt>{{t.account_groups}}</dt><dd>{{^hasGroups}}{{t.account_no_groups}}{{/hasGroups}}\
        {{#hasGroups}}<ul class="tags">{{#groups}}<li>{{.}}</li>{{/groups}}</ul>{{/hasGroups}}\
        {{#hasMoreGroups}} {{t.account_more_groups}}{{/hasMoreGroups}}</dd></div>
        {{#hasLimited}}<div><dt>{{t.account_limited}}</dt><dd><ul>\
        {{#limited}}<li>{{name}} <small>{{t.apps_until}}</small></li>{{/limited}}</ul></dd></div>{{/hasLimited}}
        </dl>
        <section>
        <h2>{{t.sessions_title}}</h2>
        {{^keepsSessions}}<p>{{t.sessions_not_kept}}</p>{{/keepsSessions}}
        {{#keepsSessions}}
        <ul class="sessions">
        {{#sessions}}
        <li><span><strong>{{#hasDevice}}{{device}}{{/hasDevice}}{{^hasDevice}}{{t.sessions_unknown}}{{/hasDevice}}</strong>\
        {{#isHere}} <small class="tag">{{t.sessions_here}}</small>{{/isHere}}<small>{{t.sessions_used}}</small></span>
        {{^isHere}}<form method="post" action="{{endAction}}">
        <button class="button" name="{{sessionField}}" value="{{id}}">{{t.sessions_end}}</button>
        </form>{{/isHere}}</li>
        {{/sessions}}
        </ul>
        {{#hasMore}}<p class="fine">{{t.sessions_more}}</p>{{/hasMore}}
        {{/keepsSessions}}
        <form method="post" action="{{signOutAction}}">
        <ul class="buttons">
        <li><button class="button primary">{{t.sign_out}}</button></li>
        {{#keepsSessions}}
        <li><button class="button" name="{{field}}" value="{{all}}">{{t.sign_out_everywhere}}</button></li>
        {{/keepsSessions}}
        </ul>
        </form>
        </section>
        <section>
        <h2>{{t.data_title}}</h2>
        <p>{{t.data_text}}</p>
        </section>
        <p class="fine">{{#hasCredentials}}<a href="{{credentialsAddress}}">{{t.credentials_title}}</a> · {{/hasCredentials}}\
        {{#hasConnectedPage}}<a href="{{connectedAddress}}">{{t.connected_title}}</a> · {{/hasConnectedPage}}\
        {{#hasPasskeyPage}}<a href="{{passkeysAddress}}">{{t.passkeys_title}}</a> · {{/hasPasskeyPage}}\
        <a href="{{appsAddress}}">{{t.show_apps}}</a></p>

        """
    )

    private static let consent = PageTemplate(
        """
        {{#hasUser}}<p>{{t.signed_in_as}}</p>{{/hasUser}}
        <p>{{t.consent_asks}}</p>
        {{#hasApps}}<ul>{{#apps}}<li>{{.}}</li>{{/apps}}</ul>{{/hasApps}}
        <p>{{t.consent_warning}}</p>
        <form method="post" action="{{action}}">
        <input type="hidden" name="{{field}}" value="{{sealed}}">
        <ul class="buttons">
        <li><button class="button primary" name="{{choice}}" value="{{allow}}">{{t.continue}}</button></li>
        <li><button class="button" name="{{choice}}" value="{{deny}}">{{t.cancel}}</button></li>
        </ul>
        </form>

        """
    )

    private static let device = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <form method="get" action="{{action}}">
        <label for="code">{{t.device_label}}</label>
        <input class="field code" id="code" name="{{name}}" required maxlength="32" placeholder="BCDF-GHJK" autocomplete="off" \
        autocapitalize="characters" spellcheck="false">
        <button class="button primary">{{t.continue}}</button>
        </form>
        <p class="fine">{{t.device_warning}}</p>

        """
    )

    private static let deviceConsent = PageTemplate(
        """
        {{#hasUser}}<p>{{t.signed_in_as}}</p>{{/hasUser}}
        <p>{{t.device_compare}}</p>
        <p class="code">{{code}}</p>
        <p>{{t.consent_asks}}</p>
        {{#hasApps}}<ul>{{#apps}}<li>{{.}}</li>{{/apps}}</ul>{{/hasApps}}
        <p>{{t.device_consent_warning}}</p>
        <form method="post" action="{{action}}">
        <input type="hidden" name="{{field}}" value="{{sealed}}">
        <ul class="buttons">
        <li><button class="button primary" name="{{choice}}" value="{{allow}}">{{t.device_allow}}</button></li>
        <li><button class="button" name="{{choice}}" value="{{deny}}">{{t.cancel}}</button></li>
        </ul>
        </form>

        """
    )

    private static let deviceDone = PageTemplate(
        """
        <p>{{#allowed}}{{t.device_done}}{{/allowed}}{{^allowed}}{{t.device_denied}}{{/allowed}}</p>

        """
    )
}
