// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A message that the gateway sends to the user of a local account, as plain text.
package enum MailText: Sendable, CaseIterable {
    /// A link to choose the first password, from an operator.
    case invitation
    /// A link to choose another password, from an operator.
    case reset
    /// A link to choose another password, which the user has asked for.
    case recovery
    /// A link to register.
    case registration
    /// For a user who wants to register and has an account.
    case registered

    /// The variables of the texts.
    package enum Variable: String, CaseIterable {
        /// The organization, or the host of the gateway.
        case organization
        /// The link.
        case link
        /// How long it is valid.
        case time
    }

    /// The subject and the text in a language; English in one that has none.
    ///
    /// - Parameters:
    ///   - language: The language.
    ///   - values: The values of the variables.
    /// - Returns: The subject and the text.
    package func message(
        in language: PageLanguage,
        _ values: [Variable: String]
    ) -> (subject: String, text: String) {
        let tag = String(language.tag.prefix { $0 != "-" })
        let texts = MailText.texts[tag]?[self] ?? MailText.texts["en"]?[self]
        func filled(_ text: String?) -> String {
            values.reduce(text ?? "") { $0.replacing("{{\($1.key.rawValue)}}", with: $1.value) }
        }
        return (filled(texts?.subject), filled(texts?.text))
    }

    /// The duration of a link in words: minutes, hours or days.
    package static func words(for duration: Duration, in language: PageLanguage) -> String {
        let seconds = max(60, duration.wholeSeconds)
        let steps: [(seconds: Int64, least: Int64, words: [String: (one: String, many: String)])] = [
            (
                86_400, 2,
                ["en": ("day", "days"), "de": ("Tag", "Tage"), "fr": ("jour", "jours"), "es": ("día", "días")]
            ),
            (
                3600, 1,
                [
                    "en": ("hour", "hours"), "de": ("Stunde", "Stunden"), "fr": ("heure", "heures"),
                    "es": ("hora", "horas"),
                ]
            ),
        ]
        let one = ["en": "one", "de": "eine", "fr": "une", "es": "una"]
        let tag = String(language.tag.prefix { $0 != "-" })
        for step in steps where seconds.isMultiple(of: step.seconds) && seconds / step.seconds >= step.least {
            let count = seconds / step.seconds
            let words = step.words[tag] ?? step.words["en"] ?? ("", "")
            return count == 1 ? "\(one[tag] ?? "one") \(words.one)" : "\(count) \(words.many)"
        }
        let minutes = ["de": "Minuten", "es": "minutos"][tag] ?? "minutes"
        return "\(seconds / 60) \(minutes)"
    }

    /// The texts by language; each has every variable that it needs.
    static let texts: [String: [MailText: (subject: String, text: String)]] = [
        "en": [
            .invitation: (
                "Your account at {{organization}}",
                """
                You have got an account at {{organization}}. Choose a password with this link:

                {{link}}

                It is valid for {{time}} and works once. If you do not know {{organization}}, ignore this message.

                """
            ),
            .reset: (
                "Choose another password at {{organization}}",
                """
                An administrator of {{organization}} has reset your password. Choose another one with this link:

                {{link}}

                It is valid for {{time}} and works once.

                """
            ),
            .recovery: (
                "Choose another password at {{organization}}",
                """
                You have asked for a link to choose another password at {{organization}}:

                {{link}}

                It is valid for {{time}} and works once. If it was not you, ignore this message: your password stays as it is.

                """
            ),
            .registration: (
                "Confirm your email address for {{organization}}",
                """
                To finish your registration at {{organization}}, choose a password with this link:

                {{link}}

                It is valid for {{time}}. If it was not you, ignore this message: nothing is kept.

                """
            ),
            .registered: (
                "You have an account at {{organization}}",
                """
                You wanted to register at {{organization}}, where you have an account with this email address already. Sign in here,
                or ask there for a link to choose another password:

                {{link}}

                If it was not you, ignore this message.

                """
            ),
        ],
        "de": [
            .invitation: (
                "Ihr Konto bei {{organization}}",
                """
                Sie haben ein Konto bei {{organization}} bekommen. Wählen Sie mit diesem Link ein Passwort:

                {{link}}

                Er gilt {{time}} lang und einmal. Wenn Sie {{organization}} nicht kennen, ignorieren Sie diese Nachricht.

                """
            ),
            .reset: (
                "Neues Passwort bei {{organization}} wählen",
                """
                Ein Administrator von {{organization}} hat Ihr Passwort zurückgesetzt. Wählen Sie mit diesem Link ein neues:

                {{link}}

                Er gilt {{time}} lang und einmal.

                """
            ),
            .recovery: (
                "Neues Passwort bei {{organization}} wählen",
                """
                Sie haben um einen Link gebeten, mit dem Sie ein neues Passwort bei {{organization}} wählen:

                {{link}}

                Er gilt {{time}} lang und einmal. Wenn Sie das nicht waren, ignorieren Sie diese Nachricht: Ihr Passwort bleibt, wie
                es ist.

                """
            ),
            .registration: (
                "Ihre E-Mail-Adresse für {{organization}} bestätigen",
                """
                Um die Registrierung bei {{organization}} abzuschließen, wählen Sie mit diesem Link ein Passwort:

                {{link}}

                Er gilt {{time}} lang. Wenn Sie das nicht waren, ignorieren Sie diese Nachricht: Es wird nichts gespeichert.

                """
            ),
            .registered: (
                "Sie haben ein Konto bei {{organization}}",
                """
                Sie wollten sich bei {{organization}} registrieren, haben dort aber schon ein Konto mit dieser E-Mail-Adresse. Melden
                Sie sich hier an, oder fordern Sie dort einen Link für ein neues Passwort an:

                {{link}}

                Wenn Sie das nicht waren, ignorieren Sie diese Nachricht.

                """
            ),
        ],
        "fr": [
            .invitation: (
                "Votre compte chez {{organization}}",
                """
                Un compte chez {{organization}} a été créé pour vous. Choisissez un mot de passe avec ce lien :

                {{link}}

                Il est valable pendant {{time}} et une seule fois. Si vous ne connaissez pas {{organization}}, ignorez ce message.

                """
            ),
            .reset: (
                "Choisissez un nouveau mot de passe chez {{organization}}",
                """
                Un administrateur de {{organization}} a réinitialisé votre mot de passe. Choisissez-en un autre avec ce lien :

                {{link}}

                Il est valable pendant {{time}} et une seule fois.

                """
            ),
            .recovery: (
                "Choisissez un nouveau mot de passe chez {{organization}}",
                """
                Vous avez demandé un lien pour choisir un nouveau mot de passe chez {{organization}} :

                {{link}}

                Il est valable pendant {{time}} et une seule fois. Si ce n’était pas vous, ignorez ce message : votre mot de passe ne
                change pas.

                """
            ),
            .registration: (
                "Confirmez votre adresse e-mail pour {{organization}}",
                """
                Pour terminer votre inscription chez {{organization}}, choisissez un mot de passe avec ce lien :

                {{link}}

                Il est valable pendant {{time}}. Si ce n’était pas vous, ignorez ce message : rien n’est conservé.

                """
            ),
            .registered: (
                "Vous avez un compte chez {{organization}}",
                """
                Vous vouliez vous inscrire chez {{organization}}, où vous avez déjà un compte avec cette adresse e-mail.
                Connectez-vous ici, ou demandez-y un lien pour choisir un nouveau mot de passe :

                {{link}}

                Si ce n’était pas vous, ignorez ce message.

                """
            ),
        ],
        "es": [
            .invitation: (
                "Tu cuenta en {{organization}}",
                """
                Se creó una cuenta para ti en {{organization}}. Elige una contraseña con este enlace:

                {{link}}

                Es válido durante {{time}} y una sola vez. Si no conoces {{organization}}, ignora este mensaje.

                """
            ),
            .reset: (
                "Elige una nueva contraseña en {{organization}}",
                """
                Un administrador de {{organization}} restableció tu contraseña. Elige otra con este enlace:

                {{link}}

                Es válido durante {{time}} y una sola vez.

                """
            ),
            .recovery: (
                "Elige una nueva contraseña en {{organization}}",
                """
                Pediste un enlace para elegir una nueva contraseña en {{organization}}:

                {{link}}

                Es válido durante {{time}} y una sola vez. Si no fuiste tú, ignora este mensaje: tu contraseña no cambia.

                """
            ),
            .registration: (
                "Confirma tu correo electrónico para {{organization}}",
                """
                Para terminar tu registro en {{organization}}, elige una contraseña con este enlace:

                {{link}}

                Es válido durante {{time}}. Si no fuiste tú, ignora este mensaje: no se guarda nada.

                """
            ),
            .registered: (
                "Tienes una cuenta en {{organization}}",
                """
                Querías registrarte en {{organization}}, donde ya tienes una cuenta con este correo electrónico. Inicia sesión aquí o
                pide allí un enlace para elegir una nueva contraseña:

                {{link}}

                Si no fuiste tú, ignora este mensaje.

                """
            ),
        ],
    ]
}
