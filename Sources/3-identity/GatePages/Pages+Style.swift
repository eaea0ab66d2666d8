// SPDX-License-Identifier: Apache-2.0

extension Pages {
    /// The icon of our pages, so that browsers do not ask an app for one: a gate in a wall.
    package static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0b57d0" d="M1 15V7a7 7 0 0 1 14 0v8h-3\
        V8a4 4 0 0 0-8 0v7z"/></svg>

        """

    /// The style sheet, so that no page needs styles of its own.
    ///
    /// Directions are logical, for languages from right to left.
    package static let sheet = """
        :root { color-scheme: light dark; --ink: #1f2328; --ground: #f6f7f9; --card: #ffffff; --line: #747775;
          --accent: #0b57d0; --fine: #575c63; --soft: #eef1f5; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --ground: #15181c; --card: #1e2228;
          --line: #8e918f; --accent: #a8c7fa; --fine: #a5abb3; --soft: #2a3038; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; align-items: center; justify-content: center;
          background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
        main { width: 100%; max-width: 26rem; margin: 1rem; padding: 2rem; background: var(--card);
          border: 1px solid color-mix(in srgb, var(--line) 35%, transparent); border-radius: .75rem; min-width: 0; }
        main.wide { max-width: 46rem; align-self: flex-start; margin-block: clamp(1rem, 6vh, 4rem); }
        .brand { display: flex; align-items: center; margin: 0 0 1.25rem; color: var(--fine); font-weight: 600; }
        .brand img { display: block; max-width: 100%; max-height: 3rem; }
        h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
        h2 { margin: 0 0 .75rem; font-size: 1.0625rem; }
        section { margin: 1.75rem 0 0; }
        p { margin: 0 0 1rem; overflow-wrap: anywhere; }
        a { color: var(--accent); }
        small { font-size: .875rem; color: var(--fine); font-weight: 400; }
        main > :last-child, section > :last-child { margin-bottom: 0; }
        .target { display: flex; align-items: center; gap: .5rem; margin-top: -.5rem; }
        ul.buttons { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
        .wide ul.buttons { grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
        .button { display: flex; align-items: center; justify-content: center; gap: .625rem; width: 100%;
          min-height: 2.75rem; padding: .55rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
          background: transparent; color: var(--ink); font: inherit; font-weight: 600; text-align: center;
          text-decoration: none; overflow-wrap: anywhere; cursor: pointer; }
        .button small { display: block; }
        .button:hover { border-color: var(--accent); color: var(--accent); }
        .primary, .lead li:first-child .button { border-color: var(--accent); background: var(--accent); color: var(--card); }
        .primary:hover, .lead li:first-child .button:hover { color: var(--card); filter: brightness(1.1); }
        .more, .search { margin: 1.5rem 0 0; }
        .search { margin: 0 0 1.5rem; }
        .row { display: flex; gap: .5rem; }
        .row .button { width: auto; flex: none; }
        .row .field { margin: 0; }
        .more label { display: block; margin-bottom: .375rem; font-size: .875rem; color: var(--fine); }
        .field { display: block; width: 100%; min-width: 0; margin: .25rem 0 1rem; padding: .55rem .75rem;
          border: 1px solid var(--line); border-radius: .5rem; background: transparent; color: var(--ink); font: inherit; }
        .field.code { text-transform: uppercase; }
        .code { font: 600 1.25rem ui-monospace, monospace; letter-spacing: .1em; text-align: center; }
        .field:focus-visible, .button:focus-visible, a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        ul.apps { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem;
          grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); }
        .app { display: flex; align-items: center; gap: .875rem; height: 100%; padding: .75rem; border-radius: .5rem;
          border: 1px solid color-mix(in srgb, var(--line) 50%, transparent); color: inherit; text-decoration: none; }
        .app:hover { border-color: var(--accent); }
        .app img, .initial { flex: none; width: 2.5rem; height: 2.5rem; border-radius: .375rem; object-fit: contain; }
        .initial { display: grid; place-items: center; background: var(--soft); color: var(--fine); font-weight: 600; }
        .app > span:last-child { min-width: 0; overflow-wrap: anywhere; }
        .app small { display: block; line-height: 1.35; }
        dl { margin: 0; }
        img.picture { border-radius: 50%; object-fit: cover; }
        dl > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: .25rem 1rem; padding: .4rem 0;
          border-bottom: 1px solid color-mix(in srgb, var(--line) 25%, transparent); }
        dt { color: var(--fine); }
        dd { margin: 0; overflow-wrap: anywhere; }
        ul.tags { list-style: none; display: flex; flex-wrap: wrap; gap: .375rem; margin: 0; padding: 0; }
        ul.tags li, .tag { padding: 0 .5rem; border-radius: 1rem; background: var(--soft); font-size: .875rem; }
        ul.sessions { list-style: none; margin: 0 0 1.25rem; padding: 0; }
        ul.sessions li { display: flex; align-items: center; justify-content: space-between; gap: .5rem 1rem; padding: .6rem 0;
          border-bottom: 1px solid color-mix(in srgb, var(--line) 25%, transparent); }
        ul.sessions li > span { min-width: 0; }
        ul.sessions small:last-child { display: block; }
        ul.sessions form { flex: none; }
        ul.sessions .button { width: auto; }
        .fine { margin-top: 1.5rem; font-size: .875rem; color: var(--fine); }
        .fine a { display: inline-block; max-width: 100%; color: inherit; }
        .codes { columns: 2; margin: 0 0 1rem; padding: 0; list-style: none; font: 600 1rem/1.75 ui-monospace, monospace; }
        form + section, form + h2 { margin-top: 1.75rem; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        code { font-family: ui-monospace, monospace; }
        @media (max-width: 30rem) {
          main { margin: .5rem; padding: 1.25rem; }
          dl > div { grid-template-columns: 1fr; }
          ul.sessions li { flex-wrap: wrap; }
        }

        """
}
