// SPDX-License-Identifier: Apache-2.0

extension PageText {
    /// The German texts.
    static let german: [PageText: String] = [
        .signIn: "Anmelden",
        .signInWith: "Mit {{provider}} anmelden",
        .signInAgain: "Erneut anmelden",
        .otherAccount: "Mit einem anderen Konto anmelden",
        .signOut: "Abmelden",
        .signOutEverywhere: "Überall abmelden",
        .showApps: "Meine Apps anzeigen",
        .showAccount: "Ihr Konto",
        .retry: "Noch einmal versuchen",
        .`continue`: "Weiter",
        .cancel: "Abbrechen",
        .thisApp: "diese App",
        .signedInAs: "Sie sind angemeldet als <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .usedAccount:
            "Sie haben dieses Konto benutzt: <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .help: "Wenn Sie um Hilfe bitten, geben Sie dies an: <code>{{code}}</code> und <code>{{incident}}</code>",
        .support: "Hilfe: <a href=\"{{supportURL}}\">{{supportText}}</a>",
        .chooserIntro: "um <strong>{{app}}</strong> zu öffnen",
        .unavailable: "Antwortet gerade nicht",
        .discoveryLabel: "Oder finden Sie Ihre Anmeldung über Ihre E-Mail-Adresse",
        .discoveryNone: "Für diese E-Mail-Adresse ist kein Anmeldedienst eingerichtet. Wählen Sie einen aus.",
        .linkDropped:
            "Der Link, über den Sie hierher gekommen sind, führt nicht weiter. Nach der Anmeldung gelangen Sie zur Startseite.",
        .everywhereNote:
            "Überall bedeutet: in allen Browsern und auf allen Geräten, auf denen dieses Konto hier benutzt wird.",
        .signedOutTitle: "Sie sind abgemeldet",
        .signedOutUnknown: "Beim Anmeldedienst, den Sie benutzt haben, sind Sie möglicherweise noch angemeldet.",
        .signedOutComplete: "Ihre Sitzung in diesem Browser ist beendet.",
        .signedOutHere:
            """
        Bei {{provider}} sind Sie möglicherweise noch angemeldet. Melden Sie sich auf einem gemeinsam genutzten \
        Computer auch dort ab.
        """,
        .signedOutThere: "Sie sind auch bei {{provider}} abgemeldet.",
        .signedOutOthers: "Auch alle Ihre anderen Sitzungen hier sind beendet.",
        .appsTitle: "Ihre Apps",
        .appsNone: "Es gibt hier keine App, die dieses Konto öffnen darf.",
        .appsSearch: "Apps suchen",
        .appsSearchButton: "Suchen",
        .appsNoMatch: "Keine App passt zu dieser Suche.",
        .appsAll: "Alle Apps anzeigen",
        .appsElsewhere: "Mit einer anderen Anmeldung",
        .appsNeeds: "Erfordert {{providers}}",
        .appsUntil: "Bis {{until}}",
        .appsMore: "Es gibt mehr Apps, als diese Seite auflistet; suchen Sie danach.",
        .accountTitle: "Ihr Konto",
        .accountIntro: "Das erfahren Apps über Sie.",
        .accountName: "Name",
        .accountUsername: "Benutzername",
        .accountEmail: "E-Mail-Adresse",
        .accountUnverified: "nicht bestätigt, Apps erhalten sie daher nicht",
        .accountProvider: "Angemeldet mit",
        .accountGroups: "Gruppen",
        .accountNoGroups: "keine",
        .accountMoreGroups: "und {{count}} weitere",
        .accountLimited: "Apps auf Zeit",
        .accountKey: "Schlüssel, unter dem Apps Sie kennen",
        .accountEnds: "Sitzung endet",
        .accountEndsIdle: "oder nach {{idle}} ohne Anfrage",
        .accountSince: "Angemeldet seit",
        .sessionsTitle: "Wo Sie angemeldet sind",
        .sessionsHere: "Dieser Browser",
        .sessionsUnknown: "Unbekanntes Gerät",
        .sessionsUsed: "zuletzt benutzt {{used}}, angemeldet {{began}}",
        .sessionsEnd: "Diese Sitzung beenden",
        .sessionsNotKept:
            """
        Dieses Gateway führt keine Liste der Sitzungen. Melden Sie sich im jeweiligen Browser ab, um eine zu \
        beenden.
        """,
        .sessionsEnded: "Die Sitzung ist beendet.",
        .sessionsMore:
            "Es sind nur die {{shown}} zuletzt benutzten Sitzungen aufgeführt; „Überall abmelden“ beendet alle.",
        .dataTitle: "Was gespeichert wird",
        .dataText:
            """
        Solange Sie angemeldet sind, speichert das Gateway die obigen Angaben, die Art Ihres Browsers und die Zeiten \
         Ihrer Anmeldung und letzten Benutzung, alles verschlüsselt. Ihre letzte Anmeldung bleibt höchstens 400 Tage \
         gespeichert. Apps speichern eigene Daten.
        """,
        .consentTitle: "Weiter zu {{client}}?",
        .consentAsks:
            """
        <strong>{{client}}</strong> möchte Sie anmelden. Es erhält Ihren Namen und Ihre \
        E-Mail-Adresse{{^hasApps}}.{{/hasApps}}{{#hasApps}} und kann, bis Sie sich abmelden, in Ihrem Namen handeln \
        in:{{/hasApps}}
        """,
        .consentWarning:
            """
        Fahren Sie nur fort, wenn Sie dies gerade selbst begonnen haben. Sie werden zu <code>{{target}}</code> \
        geleitet.
        """,
        .deviceTitle: "Ein Gerät verbinden",
        .deviceLabel: "Geben Sie den Code ein, den das Gerät anzeigt.",
        .deviceWarning:
            """
        Geben Sie nie einen Code ein, den Sie in einer Nachricht oder einem Anruf erhalten haben: Der Absender würde \
         als Sie angemeldet.
        """,
        .deviceNotACode: "Das ist kein Code aus acht Buchstaben wie WDJB-MJHT.",
        .deviceTooMany:
            """
        Es wurden zu viele Codes versucht. Warten Sie eine Minute und geben Sie den Code dann noch einmal ein.
        """,
        .deviceUnknown: "Kein Gerät wartet mit diesem Code. Ein Code gilt zehn Minuten lang und nur einmal.",
        .deviceExpired: "Der Code ist abgelaufen oder wurde schon benutzt.",
        .deviceConsentTitle: "Auf einem Gerät bei {{client}} anmelden?",
        .deviceCompare: "Vergleichen Sie: Das Gerät, das Sie verbinden wollen, zeigt",
        .deviceConsentWarning:
            """
        Wenn Sie dies nicht auf einem Gerät vor Ihnen begonnen haben, brechen Sie ab. Der Absender des Codes oder \
        des Links würde als Sie angemeldet.
        """,
        .deviceAllow: "Die Codes stimmen überein: anmelden",
        .deviceDoneTitle: "Das Gerät ist verbunden",
        .deviceDeniedTitle: "Das Gerät wurde abgelehnt",
        .deviceDone:
            """
        <strong>{{client}}</strong> meldet Sie auf dem Gerät in einigen Sekunden an. Sie können diese Seite \
        schließen.
        """,
        .deviceDenied: "Es wurde nichts angemeldet. Wenn Sie dies nicht begonnen haben, müssen Sie nichts weiter tun.",
        .signInWithPassword: "Mit einem Passwort anmelden",
        .accountFormName: "E-Mail-Adresse oder Benutzername",
        .accountFormPassword: "Passwort",
        .accountFormForgotten:
            """
        Wenn Sie das Passwort vergessen haben, bitten Sie den Administrator um einen Link, mit dem Sie ein \
        neues wählen.
        """,
        .accountFormWrong: "Der Name oder das Passwort ist falsch.",
        .accountFormLate: "Das hat zu lange gedauert. Melden Sie sich noch einmal an.",
        .accountFormWait: "Zu viele Versuche. Warten Sie {{seconds}} Sekunden und versuchen Sie es dann noch einmal.",
        .codeTitle: "Code eingeben",
        .codeLabel: "Die sechs Ziffern aus Ihrer Authenticator-App oder einer Ihrer Wiederherstellungscodes",
        .codeWrong: "Der Code ist falsch oder wurde schon benutzt.",
        .chooseTitle: "Wählen Sie ein Passwort",
        .chooseNew: "Neues Passwort, mindestens 12 Zeichen",
        .chooseRepeat: "Noch einmal dasselbe",
        .chooseButton: "Passwort festlegen",
        .chooseNote: "Mehrere Wörter sind gut, Leerzeichen auch. Sie können aus einem Passwortmanager einfügen.",
        .chooseDiffer: "Die beiden Passwörter sind verschieden. Geben Sie zweimal dasselbe ein.",
        .chosenTitle: "Ihr Passwort ist festgelegt",
        .chosenText: "Der Link ist verbraucht. Ab jetzt melden Sie sich mit diesem Passwort an.",
        .passwordShort: "Benutzen Sie mindestens {{count}} Zeichen. Mehrere Wörter sind gut.",
        .passwordLong: "Benutzen Sie höchstens {{count}} Bytes.",
        .passwordRepetitive: "Benutzen Sie mindestens {{count}} verschiedene Zeichen.",
        .passwordPersonal:
            """
        Das Passwort enthält Ihren Namen, Ihre E-Mail-Adresse oder den Namen dieser Site. Wählen Sie ein \
        anderes.
        """,
        .passwordCommon: "Dieses Passwort verwenden viele, es wird als Erstes geraten. Wählen Sie ein anderes.",
        .passwordBreached: "Dieses Passwort ist durch ein Datenleck öffentlich bekannt. Wählen Sie ein anderes.",
        .credentialsTitle: "Passwort und Codes",
        .credentialsChange: "Passwort ändern",
        .credentialsCurrent: "Jetziges Passwort",
        .credentialsEnds: "Dies meldet Sie überall ab.",
        .credentialsWrong: "Das jetzige Passwort ist falsch.",
        .credentialsConflict: "Das Konto hat sich inzwischen geändert. Versuchen Sie es noch einmal.",
        .credentialsDone: "Erledigt",
        .credentialsChanged:
            "Das Passwort ist geändert, und Sie sind überall abgemeldet. Melden Sie sich mit dem neuen an.",
        .passkeySignIn: "Mit einem Passkey anmelden",
        .passkeyTitle: "Mit dem Passkey bestätigen",
        .passkeyIntro: "Diese Seite braucht Ihren Passkey: Ihr Gerät fragt nach Fingerabdruck, Gesicht oder PIN.",
        .passkeyUse: "Passkey verwenden",
        .passkeyNone: """
        Diese Seite braucht einen Passkey, und Sie haben noch keinen. Fügen Sie auf diesem Gerät einen hinzu, \
        dann geht es weiter.
        """,
        .passkeyAdd: "Passkey hinzufügen",
        .passkeyNoScript: "Passkeys brauchen JavaScript, das in diesem Browser ausgeschaltet ist.",
        .passkeyUnsupported:
            "Dieser Browser kann keine Passkeys verwenden. Nehmen Sie einen anderen Browser oder ein anderes Gerät.",
        .passkeyCancelled: "Es wurde kein Passkey verwendet. Versuchen Sie es noch einmal.",
        .passkeyRegistered: "Dieses Gerät hat schon einen Passkey für Sie.",
        .passkeyFailed:
            "Der Passkey wurde nicht akzeptiert. Nehmen Sie einen anderen, oder versuchen Sie es noch einmal.",
        .passkeyCopied: "Dieser Passkey wurde anscheinend kopiert. Entfernen Sie ihn und verwenden Sie einen anderen.",
        .passkeyLimit:
            "Dieser Passkey kann nicht hinzugefügt werden: Sie haben ihn schon, oder so viele, wie erlaubt sind.",
        .passkeysTitle: "Ihre Passkeys",
        .passkeysIntro: """
        Mit einem Passkey bestätigt Ihr Gerät, dass Sie es sind, durch Fingerabdruck, Gesicht oder PIN. Nichts \
        davon verlässt das Gerät.
        """,
        .passkeysEmpty: "Sie haben noch keinen Passkey.",
        .passkeysAdded: "hinzugefügt am {{added}}",
        .passkeysUsed: "zuletzt benutzt am {{used}}",
        .passkeysSynced: "synchronisiert",
        .passkeysRemove: "Entfernen",
        .passkeysName: "Name des Passkeys",
        .passkeysConfirm: "Um einen Passkey hinzuzufügen oder zu entfernen, bestätigen Sie zuerst, dass Sie es sind.",
        .passkeysConfirmButton: "Bestätigen",
        .passkeysLost: "Wenn Sie Ihren einzigen Passkey verloren haben, kann ihn ein Administrator entfernen.",
        .passkeysChanged: "Ihre Passkeys sind geändert.",
        .factorTitle: "Codes bei der Anmeldung",
        .factorLeft: "Eine Authenticator-App ist eingerichtet. Sie haben noch {{left}} Wiederherstellungscodes.",
        .factorRemove: "Authenticator-App entfernen",
        .factorRemoved: "Die Authenticator-App ist entfernt. Ab jetzt genügt das Passwort.",
        .factorAddTitle: "Codes bei der Anmeldung hinzufügen",
        .factorAddIntro:
            """
        Öffnen Sie den Link auf dem Gerät mit Ihrer Authenticator-App, oder geben Sie das Geheimnis dort \
        ein.
        """,
        .factorOpen: "In einer Authenticator-App öffnen",
        .factorDigits: "Die sechs Ziffern, die die App anzeigt",
        .factorAdd: "Authenticator-App hinzufügen",
        .factorLate: "Das hat zu lange gedauert. Übernehmen Sie das neue Geheimnis.",
        .factorWrong: "Der Code ist falsch. Prüfen Sie die Uhr des Geräts.",
        .recoveryTitle: "Bewahren Sie diese Codes auf",
        .recoveryText:
            """
        Die Authenticator-App ist eingerichtet. Wenn Sie sie verlieren, meldet Sie jeder dieser Codes einmal \
        an. Sie werden nur jetzt angezeigt.
        """,
        .recoveryKept: "Ich habe sie notiert",
        .connectedTitle: "Verbundene Konten",
        .connectedFirst: "Apps kennen Sie unter Ihrem ersten Konto, mit welchem Ihrer Konten Sie sich auch anmelden.",
        .connectedUsed: "Diese Konten gehören Ihnen. Apps kennen Sie unter dem Konto, mit dem Sie sich anmelden.",
        .connectedHere: "diese Anmeldung",
        .connectedMain: "erstes Konto",
        .connectedAdded: "verbunden am {{added}}",
        .connectedRemove: "Trennen",
        .connectedAdd: "Weiteres Konto verbinden",
        .connectedConfirm: "Um ein Konto zu verbinden oder zu trennen, bestätigen Sie zuerst, dass Sie es sind.",
        .connectedChanged: "Ihre verbundenen Konten sind geändert.",
        .connectTitle: "Dieses Konto verbinden?",
        .connectText: "Sie haben sich gerade als <strong>{{name}}</strong> mit {{provider}} angemeldet.",
        .connectFirst:
            """
        Danach kennen Apps Sie unter Ihrem ersten Konto, wenn Sie sich mit diesem anmelden, und nicht mehr unter \
        diesem selbst.
        """,
        .connectWarning: "Verbinden Sie es nur, wenn es Ihr eigenes ist: Mit ihm meldet man sich als Sie an.",
        .connectAllow: "Verbinden",
        .connectFailed:
            """
        Das Konto wurde nicht verbunden: Es ist anderswo verbunden, ist das der Anmeldung selbst, oder es sind \
        zu viele.
        """,
        .passkeyLate: "Die Seite war zu lange offen. Versuchen Sie es noch einmal.",
        .credentialsPasskeys:
            """
        Das Passwort ist geändert, und Sie sind überall abgemeldet. Ihre Passkeys und verbundenen Konten melden \
        Sie weiterhin an: Sehen Sie in Ihr Konto, und entfernen Sie, was Sie nicht kennen.
        """,
        .recoverLink: "Passwort vergessen?",
        .recoverTitle: "Ein neues Passwort wählen",
        .recoverIntro:
            """
        Geben Sie die E-Mail-Adresse Ihres Kontos ein. Sie bekommen einen Link, mit dem Sie ein neues Passwort \
        wählen.
        """,
        .joinLink: "Konto erstellen",
        .joinTitle: "Konto erstellen",
        .joinIntro: "Geben Sie Ihre E-Mail-Adresse ein. Sie bekommen einen Link, mit dem Sie ein Passwort wählen.",
        .joinDomains: "Nur für E-Mail-Adressen von: {{domains}}",
        .joinName: "Name (freiwillig)",
        .mailAddress: "E-Mail-Adresse",
        .mailSend: "Link senden",
        .mailBad: "Das ist keine E-Mail-Adresse, die hier verwendet werden kann.",
        .mailWait: "Zu viele Anfragen. Warten Sie {{minutes}} Minuten, und versuchen Sie es dann noch einmal.",
        .mailSentTitle: "Sehen Sie in Ihr Postfach",
        .mailSent:
            """
        Wenn die Adresse hier verwendet werden kann, ist eine Nachricht mit einem Link unterwegs. Er gilt eine \
        Stunde. Kommt nichts an, sehen Sie in den Spam-Ordner.
        """,
    ]
}
