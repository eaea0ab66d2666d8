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
        "form_not_sent": (
            "Ihr Formular wurde nicht gesendet",
            """
            Sie wurden inzwischen abgemeldet oder müssen sich noch einmal ausweisen; {{app}} hat Ihre Eingaben deshalb nicht \
            erhalten. Gehen Sie zurück, um sie zu kopieren, falls Ihr Browser sie noch zeigt. Melden Sie sich dann an und senden \
            Sie sie noch einmal.
            """
        ),
        "confirmation_needed": (
            "Ihre Sitzung muss bestätigt werden",
            """
            Öffnen Sie die App in einem anderen Tab; damit wird bestätigt, dass Sie noch angemeldet sind. Laden Sie \
            dann diese Seite neu: Ihre Eingaben werden noch einmal gesendet.
            """
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
        "certificate_needed": (
            "Ein Zertifikat ist nötig",
            """
            Um {{app}} zu öffnen, muss Ihr Browser ein Zertifikat von Ihnen oder Ihrem Gerät vorlegen, und er hat keines \
            vorgelegt, das angenommen wird. Angenommen werden Zertifikate von: {{issuers}}. Wenn Sie gerade erst eines \
            installiert haben, schließen Sie den Browser und öffnen Sie ihn neu.
            """
        ),
        "certificate_rejected": (
            "Ihr Zertifikat wird nicht angenommen",
            """
            Das Zertifikat, das Ihr Browser vorgelegt hat, kann hier nicht benutzt werden: Es ist vielleicht abgelaufen \
            oder wurde widerrufen. Bitten Sie den Betreiber um ein anderes. Angenommen werden Zertifikate von: \
            {{issuers}}.
            """
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
        "provider_misconfigured": (
            "Diese Anmeldung ist nicht richtig eingerichtet",
            """
            Es liegt nicht an Ihnen, und ein neuer Versuch hilft nicht: Die Betreiber müssen das berichtigen. Wählen \
            Sie eine andere Anmeldung, oder sagen Sie ihnen Bescheid.
            """
        ),
        "app_not_verified": (
            "Die App konnte nicht überprüft werden",
            """
            Das Gateway konnte den Server der App nicht überprüfen und hat nichts dorthin gesendet. Die Betreiber \
            müssen das berichtigen.
            """
        ),
        "app_not_understood": (
            "Die Antwort der App kann nicht gezeigt werden",
            "Es liegt nicht an Ihnen. Wenn es wieder geschieht, sagen Sie den Betreibern der App Bescheid."
        ),
        "app_leads_back": (
            "Die App führt zu sich selbst zurück",
            """
            Die Anfrage kam zum Gateway zurück und wurde angehalten. Die Betreiber müssen die Einstellungen der App \
            berichtigen.
            """
        ),
        "operators_needed": (
            "Im Augenblick nicht verfügbar",
            """
            Die Betreiber dieses Gateways müssen zuerst eingreifen. Ihre Daten sind nicht verloren; kommen Sie später \
            wieder.
            """
        ),
        "callback_not_understood": (
            "Die Antwort des Anmeldedienstes war nicht zu verstehen",
            """
            Sie ist unvollständig oder wurde unterwegs verändert. Melden Sie sich noch einmal an; hilft das nicht, \
            sagen Sie den Betreibern Bescheid.
            """
        ),
        "sign_in_stopped": (
            "Diese Anmeldung wurde angehalten",
            """
            Die Antwort kam nicht von dem Anmeldedienst, bei dem Sie begonnen haben; das kann ein Angriff sein. \
            Dorthin wurde nichts von Ihnen gesendet. Öffnen Sie die App neu und melden Sie sich an; geschieht es \
            wieder, sagen Sie den Betreibern Bescheid.
            """
        ),
        "authentication_stale": (
            "Eine neue Anmeldung ist nötig",
            """
            Die App verlangt eine Anmeldung von eben, und der Anmeldedienst hat Sie nicht danach gefragt. Melden Sie \
            sich zuerst dort ab, dann wieder an.
            """
        ),
        "signed_out_meanwhile": (
            "Sie wurden abgemeldet",
            """
            Während dieser Anmeldung wurden Sie hier oder beim Anmeldedienst abgemeldet. Melden Sie sich noch einmal \
            an.
            """
        ),
        "other_organization": (
            "Dieses Konto gehört zu einer anderen Organisation",
            "Hier dürfen sich nur Konten bestimmter Organisationen anmelden. Verwenden Sie eines davon."
        ),
        "credentials_wrong": (
            "Sie sind nicht angemeldet",
            "Der Name, das Passwort oder der Code war nicht richtig."
        ),
        "passkey_copied": (
            "Der Passkey wurde nicht angenommen",
            """
            Er wurde anscheinend kopiert. Entfernen Sie ihn, verwenden Sie einen anderen, und sagen Sie den \
            Betreibern Bescheid.
            """
        ),
        "passkey_not_added": (
            "Der Passkey wurde nicht hinzugefügt",
            """
            Sie haben ihn schon, haben so viele, wie erlaubt sind, oder haben inzwischen einen anderen hinzugefügt. \
            Öffnen Sie die Seite neu.
            """
        ),
        "address_not_accepted": (
            "Diese Adresse wird nicht angenommen",
            """
            Sie enthält Zeichen, die Server verschieden lesen, etwa einen kodierten Schrägstrich. Prüfen Sie den \
            Link, oder lassen Sie sich einen anderen geben.
            """
        ),
    ]
}
