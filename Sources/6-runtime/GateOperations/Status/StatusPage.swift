// SPDX-License-Identifier: Apache-2.0

internal import GatePages

/// The status page of the operations listener: `/status` as a browser shows it.
///
/// It is made of the value from which the JSON of `/status` is made. Every text is escaped and cut; there is no script.
package enum StatusPage {
    /// Where its style sheet and its icon are, on the operations listener.
    package static let assets = (style: "/status/style.css", icon: "/status/icon.svg")

    /// How many rows a table has at most; what needs attention comes first.
    static let maxRows = 200

    package static func html(_ status: GatewayStatus) -> String {
        let view = StatusView(status)
        let values = ["content": self.template.value, "style": self.assets.style, "icon": self.assets.icon]
        return self.frame.render(view.values.merging(values) { $1 })
    }

    private static let frame = PageTemplate(
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Gatehouse status</title>
        <link rel="stylesheet" href="{{style}}">
        <link rel="icon" href="{{icon}}" type="image/svg+xml">
        </head>
        <body>
        <main>
        <h1>Gatehouse status</h1>
        {{content}}
        </main>
        </body>
        </html>

        """
    )

    private static let template = PageTemplate(
        """
        <p class="fine">{{url}} · version {{version}} · started {{started}} · as of {{now}}</p>
        <section aria-labelledby="warnings">
        <h2 id="warnings">Warnings</h2>
        {{^hasWarnings}}<p><span class="state ok">Nothing needs attention</span></p>{{/hasWarnings}}
        {{#hasWarnings}}
        <ul class="warnings">
        {{#warnings}}
        <li class="{{class}}"><span class="state {{class}}">{{severity}}</span> {{text}}
        {{#hasRunBook}}<span class="fine">Run-book: <code>{{runBook}}</code> in docs/alerts.md</span>{{/hasRunBook}}</li>
        {{/warnings}}
        </ul>
        {{/hasWarnings}}
        </section>

        <section aria-labelledby="hour">
        <h2 id="hour">The last hour</h2>
        <div class="plots">
        {{#plots}}
        <figure>
        <figcaption>{{title}}: <strong>{{summary}}</strong></figcaption>
        <svg role="img" aria-label="{{title}}, by minute: {{summary}}" viewBox="0 0 600 100" preserveAspectRatio="none">
        {{#bars}}<rect class="{{class}}" x="{{x}}" y="{{y}}" width="8" height="{{height}}"></rect>{{/bars}}
        <line x1="0" y1="99.5" x2="600" y2="99.5"></line>
        </svg>
        <p class="axis fine"><span>60 minutes ago</span><span>at most {{peak}} a minute</span><span>now</span></p>
        {{#hasLegend}}<p class="fine"><span class="key good"></span> succeeded <span class="key bad"></span> failed</p>
        {{/hasLegend}}
        </figure>
        {{/plots}}
        </div>
        </section>

        {{#tables}}
        <section aria-labelledby="{{id}}">
        <h2 id="{{id}}">{{title}}</h2>
        {{^hasRows}}<p>{{empty}}</p>{{/hasRows}}
        {{#hasRows}}
        <table role="table">
        <thead role="rowgroup"><tr role="row">
        {{#columns}}<th role="columnheader" scope="col">{{.}}</th>{{/columns}}
        </tr></thead>
        <tbody role="rowgroup">
        {{#rows}}
        <tr role="row">{{#cells}}<td role="cell" data-label="{{label}}">\
        <span class="value">{{#isState}}<span class="state {{class}}">{{text}}</span>{{/isState}}\
        {{^isState}}{{text}}{{/isState}}{{#hasNote}} <span class="fine">{{note}}</span>{{/hasNote}}</span></td>{{/cells}}</tr>
        {{/rows}}
        </tbody>
        </table>
        {{/hasRows}}
        {{#hasMore}}<p class="fine">{{more}} more are in the JSON.</p>{{/hasMore}}
        </section>
        {{/tables}}

        <p class="fine">The same as JSON: <code>curl http://{{operations}}/status</code>. Metrics: <code>/metrics</code>.</p>

        """
    )

    /// The style sheet of the page: that of all pages, and what only this one has.
    package static let style =
        Pages.sheet + """
            :root { --good: #146c2e; --bad: #b3261e; --warn: #7a4f00; --band: #eef1f5; }
            @media (prefers-color-scheme: dark) { :root { --good: #7fd99a; --bad: #ffb4ab; --warn: #f5c26b;
              --band: #262b32; } }
            body { align-items: flex-start; }
            main { max-width: 72rem; padding: 1.5rem; min-width: 0; }
            h2 { margin: 0 0 .75rem; font-size: 1.125rem; }
            section { margin: 0 0 2rem; }
            section p:last-child { margin-bottom: 0; }
            p.fine, span.fine { margin-top: 0; overflow-wrap: anywhere; }
            .state { font-weight: 600; white-space: nowrap; }
            .state::before { margin-right: .35rem; }
            .state.ok { color: var(--good); }
            .state.ok::before { content: "\\2713"; }
            .state.warning { color: var(--warn); }
            .state.warning::before { content: "\\25B2"; }
            .state.critical { color: var(--bad); }
            .state.critical::before { content: "\\2717"; }
            .state.unknown { font-weight: 400; }
            .state.unknown::before { content: "\\2013"; }
            ul.warnings { list-style: none; margin: 0; padding: 0; display: grid; gap: .5rem; }
            ul.warnings li { padding: .5rem .75rem; background: var(--band); border-left: .25rem solid var(--line);
              overflow-wrap: anywhere; }
            ul.warnings li.critical { border-color: var(--bad); }
            ul.warnings li.warning { border-color: var(--warn); }
            ul.warnings li .fine { display: block; }
            .plots { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
            figure { margin: 0; min-width: 0; }
            figcaption { margin-bottom: .5rem; }
            svg { display: block; width: 100%; height: 6rem; background: var(--band); }
            svg line { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
            .good { fill: var(--accent); background: var(--accent); }
            .bad { fill: var(--bad); background: var(--bad); }
            p.axis { display: flex; justify-content: space-between; gap: 1rem; margin: .25rem 0 0; }
            .key { display: inline-block; width: .75rem; height: .75rem; border-radius: .125rem; }
            table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
            th, td { padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere;
              border-bottom: 1px solid color-mix(in srgb, var(--line) 35%, transparent); }
            th { font-weight: 600; color: var(--fine); overflow-wrap: normal; }
            th, td { min-width: 5rem; }
            th:first-child, td:first-child { min-width: 8rem; }
            td .fine { display: block; }
            @media (max-width: 48rem) {
              td, td:first-child { min-width: 0; }
              td:first-child { font-weight: 600; }
              main { margin: .5rem; padding: 1rem; }
              table, tbody, tr { display: block; }
              td { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: .75rem; padding: .25rem 0;
                border-bottom: 0; }
              td::before { content: attr(data-label); color: var(--fine); }
              tr { padding: .5rem 0; border-bottom: 1px solid color-mix(in srgb, var(--line) 35%, transparent); }
              thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
            }

            """
}
