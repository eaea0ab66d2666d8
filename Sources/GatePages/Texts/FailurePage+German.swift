// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Failure.Page {
    /// The heading and the text of each page in German, by its name.
    static let german: [String: (title: String, text: String)] = [
        "bad_request": (
            "Die Anfrage wurde nicht verstanden",
            """
            Die Adresse oder das Formular, das hierher geführt hat, stimmt nicht. Gehen Sie zurück und versuchen \
            Sie es noch einmal.
            """
        ),
        "please_sign_in": (
            "Bitte melden Sie sich an",
            "Diese Seite ist für angemeldete Benutzer."
        ),
        "not_allowed": (
            "Die Anfrage wurde gestoppt",
            "Das Gateway erlaubt dies nicht."
        ),
        "app_not_found": (
            "Seite nicht gefunden",
            "Für diese URL ist keine App eingerichtet. Prüfen Sie die Adresse."
        ),
        "wrong_method": (
            "Das geht hier nicht",
            "Diese Adresse nimmt diese Art von Anfrage nicht an."
        ),
        "too_large": (
            "Das ist zu groß",
            "Die Anfrage hat mehr Bytes, als diese App annimmt. Senden Sie weniger auf einmal."
        ),
        "too_many": (
            "Zu viele Anfragen",
            "Bitte warten Sie eine Minute und versuchen Sie es noch einmal."
        ),
        "provider_failed": (
            "Der Anmeldedienst antwortet nicht richtig",
            "Es liegt nicht an Ihnen. Versuchen Sie es in einer Minute noch einmal, oder wählen Sie eine andere Anmeldung."
        ),
        "provider_not_verified": (
            "Diese Anmeldung ist gerade nicht verfügbar",
            """
            Das Gateway konnte den Anmeldedienst nicht überprüfen und hat deshalb nichts dorthin gesendet. Die \
            Betreiber wurden benachrichtigt. Wählen Sie eine andere Anmeldung, oder versuchen Sie es später noch \
            einmal.
            """
        ),
        "app_failed": (
            "Die App antwortet nicht",
            "Es liegt nicht an Ihnen: Die App ist ausgefallen. Versuchen Sie es in einer Minute noch einmal."
        ),
        "app_timed_out": (
            "Die App braucht zu lange",
            "Die App hat nicht rechtzeitig geantwortet. Versuchen Sie es in einer Minute noch einmal."
        ),
        "maintenance": (
            "An dieser App wird gearbeitet",
            "Sie wird zurückkommen; bitte versuchen Sie es in einigen Minuten noch einmal."
        ),
        "overloaded": (
            "Gerade nicht verfügbar",
            "Bitte versuchen Sie es in einigen Sekunden noch einmal."
        ),
        "internal_error": (
            "Etwas ist schiefgegangen",
            "Im Gateway ist ein Fehler aufgetreten; die Einzelheiten sind in seinem Log."
        ),
        "sign_in_not_completed": (
            "Diese Anmeldung kann nicht abgeschlossen werden",
            """
            Sie hat zu lange gedauert, wurde schon benutzt oder in einem anderen Fenster oder Browser begonnen. \
            Es ist nichts kaputt: Melden Sie sich noch einmal an.
            """
        ),
        "account_too_large": (
            "Ihr Konto hat zu viele Daten",
            """
            Die Anmeldung hat geklappt, aber was über Ihr Konto bekannt ist, meist seine Gruppen und Rollen, \
            passt nicht in die Cookies Ihres Browsers. Der Betreiber dieses Gateways muss dessen Einstellungen \
            ändern.
            """
        ),
        "sessions_not_kept": (
            "Hier nicht möglich",
            """
            Dieses Gateway führt keine Liste der Sitzungen und kann daher die anderer Browser nicht beenden. \
            Melden Sie sich in jedem Browser ab.
            """
        ),
        "sign_in_expired": (
            "Diese Anmeldung hat zu lange gedauert",
            """
            Eine Anmeldung muss innerhalb von zehn Minuten abgeschlossen werden. Es ist nichts kaputt: Melden \
            Sie sich noch einmal an.
            """
        ),
        "app_not_known": (
            "Diese App kann Sie nicht anmelden",
            """
            Die App, die Sie hierher geschickt hat, ist für diese Anmeldung nicht eingerichtet. Ihr Entwickler \
            muss das berichtigen.
            """
        ),
        "transfer_not_completed": (
            "Diese Anmeldung kann nicht abgeschlossen werden",
            """
            Sie hat zu lange gedauert, wurde schon benutzt oder in einem anderen Browser begonnen. Es ist nichts \
            kaputt: Versuchen Sie es noch einmal.
            """
        ),
        "return_path_too_long": (
            "Der Link war zu lang",
            """
            Sie sind angemeldet, aber die Adresse, von der Sie kamen, war zu lang, um sie so lange \
            aufzubewahren. Öffnen Sie Ihren Link noch einmal, oder beginnen Sie auf der Startseite der App.
            """
        ),
        "return_path_lost": (
            "Der Link ist nicht mehr bekannt",
            "Die Adresse, von der Sie kamen, wurde nicht lange genug aufbewahrt. Öffnen Sie Ihren Link noch einmal."
        ),
        "not_signed_in": (
            "Sie sind nicht angemeldet",
            "Die Anmeldung wurde abgebrochen, oder dieses Konto darf hier nicht benutzt werden."
        ),
        "provider_interaction": (
            "Der Anmeldedienst muss Sie etwas fragen",
            """
            Öffnen Sie ihn und melden Sie sich dort an, oder stimmen Sie dem zu, was er fragt. Beginnen Sie dann \
            noch einmal.
            """
        ),
        "access_denied": (
            "Sie dürfen {{app}} nicht öffnen",
            """
            Dieses Konto hat keinen Zugriff. Wenn Sie ein anderes Konto haben, melden Sie sich damit an. Bitten \
            Sie andernfalls die Betreiber um Zugriff.
            """
        ),
        "access_undecided": (
            "Sie dürfen {{app}} nicht öffnen",
            """
            Der Anmeldedienst hat zu wenig über Ihr Konto mitgeteilt, um zu entscheiden. Eine erneute Anmeldung \
            kann helfen.
            """
        ),
        "provider_not_found": (
            "Unbekannte Anmeldung",
            "Das Gateway hat keinen Anmeldedienst dieses Namens."
        ),
        "endpoint_not_found": (
            "Seite nicht gefunden",
            "Das Gateway hat unter dieser Adresse keine Seite."
        ),
        "misdirected": (
            "Falsche Verbindung",
            "Ihr Browser hat eine Verbindung benutzt, die für eine andere Site ist. Laden Sie die Seite neu."
        ),
        "not_navigation": (
            "Hier können Sie sich nicht anmelden",
            "Eine Anmeldung beginnt in einem eigenen Fenster, nicht in einer anderen Seite."
        ),
        "cross_site": (
            "Die Anfrage wurde gestoppt",
            """
            Eine andere Site hat Ihren Browser hierher geschickt, um etwas zu ändern. Wenn Sie das wollten, tun \
            Sie es in der App selbst.
            """
        ),
        "unreadable": (
            "Die Anfrage wurde nicht verstanden",
            """
            Ihr Browser hat etwas gesendet, das das Gateway nicht annimmt. Prüfen Sie die Adresse, oder gehen \
            Sie zurück und versuchen Sie es noch einmal.
            """
        ),
        "head_too_large": (
            "Ihr Browser hat zu viel gesendet",
            """
            Wahrscheinlich hat er zu viele Cookies für diese Site. Löschen Sie die Cookies dieser Site und \
            versuchen Sie es noch einmal.
            """
        ),
        "target_too_long": (
            "Die Adresse ist zu lang",
            "Sie hat mehr Zeichen, als das Gateway annimmt. Kürzen Sie den Link."
        ),
        "too_slow": (
            "Die Anfrage hat zu lange gedauert",
            "Die Verbindung war zu langsam. Bitte versuchen Sie es noch einmal."
        ),
        "method_not_accepted": (
            "Das geht hier nicht",
            "Das Gateway nimmt diese Art von Anfrage nicht an."
        ),
        "account_not_connected": (
            "Das Konto wurde nicht verbunden",
            """
            Es ist das Konto Ihrer Anmeldung selbst, ist schon mit anderen verbunden, oder Sie haben sich inzwischen \
            abgemeldet.
            """
        ),
        "passkey_not_accepted": (
            "Der Passkey wurde nicht akzeptiert",
            """
            Er gehört zu einem anderen Konto, wurde entfernt, oder die Anfrage ist zu alt. Nehmen Sie einen anderen \
            Passkey, oder versuchen Sie es noch einmal.
            """
        ),
        "link_over": (
            "Dieser Link ist nicht mehr gültig",
            "Er wurde schon benutzt oder ist abgelaufen. Bitten Sie den Administrator um einen neuen."
        ),
    ]
}
