// SPDX-License-Identifier: Apache-2.0

extension PageText {
    /// The French texts.
    static let french: [PageText: String] = [
        .signIn: "Se connecter",
        .signInWith: "Se connecter avec {{provider}}",
        .signInAgain: "Se reconnecter",
        .otherAccount: "Se connecter avec un autre compte",
        .signOut: "Se déconnecter",
        .signOutEverywhere: "Se déconnecter partout",
        .showApps: "Afficher mes applications",
        .showAccount: "Votre compte",
        .retry: "Réessayer",
        .`continue`: "Continuer",
        .cancel: "Annuler",
        .thisApp: "cette application",
        .signedInAs:
            "Vous êtes connecté en tant que <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .usedAccount:
            "Vous avez utilisé le compte de <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .help: "Si vous demandez de l’aide, indiquez : <code>{{code}}</code> et <code>{{incident}}</code>",
        .support: "Aide : <a href=\"{{supportURL}}\">{{supportText}}</a>",
        .chooserIntro: "pour continuer vers <strong>{{app}}</strong>",
        .unavailable: "Ne répond pas pour le moment",
        .discoveryLabel: "Ou trouvez votre service de connexion avec votre adresse e-mail",
        .linkDropped:
            "Le lien qui vous a amené ici ne peut pas être suivi. Après la connexion, vous arriverez à la page d’accueil.",
        .discoveryNone:
            "Aucun service de connexion n’est prévu pour cette adresse e-mail. Choisissez-en un ci-dessous.",
        .everywhereNote:
            "Partout signifie : dans tous les navigateurs et sur tous les appareils qui utilisent ce compte ici.",
        .signedOutTitle: "Vous êtes déconnecté",
        .signedOutUnknown: "Vous êtes peut-être encore connecté au service de connexion que vous avez utilisé.",
        .signedOutComplete: "Votre session dans ce navigateur est terminée.",
        .signedOutHere:
            """
        Vous êtes peut-être encore connecté chez {{provider}}. Sur un ordinateur partagé, déconnectez-vous aussi de \
        ce service.
        """,
        .signedOutThere: "Vous êtes également déconnecté de {{provider}}.",
        .signedOutOthers: "Toutes vos autres sessions ici sont également terminées.",
        .appsTitle: "Vos applications",
        .appsNone: "Aucune application n’est accessible avec ce compte.",
        .appsSearch: "Rechercher une application",
        .appsSearchButton: "Rechercher",
        .appsNoMatch: "Aucune application ne correspond à cette recherche.",
        .appsAll: "Afficher toutes les applications",
        .appsElsewhere: "Avec une autre connexion",
        .appsNeeds: "Nécessite {{providers}}",
        .appsUntil: "Jusqu’au {{until}}",
        .appsMore: "Il existe plus d’applications que cette page n’en affiche ; faites une recherche.",
        .accountTitle: "Votre compte",
        .accountIntro: "Voici ce que les applications apprennent sur vous.",
        .accountName: "Nom",
        .accountUsername: "Nom d’utilisateur",
        .accountEmail: "Adresse e-mail",
        .accountUnverified: "non vérifiée, donc non transmise aux applications",
        .accountProvider: "Connecté avec",
        .accountGroups: "Groupes",
        .accountNoGroups: "aucun",
        .accountMoreGroups: "et {{count}} autres",
        .accountLimited: "Applications à durée limitée",
        .accountKey: "Identifiant transmis aux applications",
        .accountEnds: "Fin de la session",
        .accountEndsIdle: "ou après {{idle}} sans requête",
        .accountSince: "Connecté depuis",
        .sessionsTitle: "Où vous êtes connecté",
        .sessionsHere: "Ce navigateur",
        .sessionsUnknown: "Appareil inconnu",
        .sessionsUsed: "dernière utilisation {{used}}, connexion {{began}}",
        .sessionsEnd: "Terminer cette session",
        .sessionsNotKept:
            """
        Cette passerelle ne conserve pas la liste des sessions. Pour en terminer une, déconnectez-vous dans le \
        navigateur concerné.
        """,
        .sessionsEnded: "La session est terminée.",
        .sessionsMore:
            """
        Seules les {{shown}} dernières sessions utilisées sont listées ; « Se déconnecter partout » les termine \
        toutes.
        """,
        .dataTitle: "Ce qui est conservé",
        .dataText:
            """
        Tant que vous êtes connecté, la passerelle conserve, chiffrés, les renseignements ci-dessus, le type de \
        votre navigateur et les heures de connexion et de dernière utilisation. Votre dernière connexion est \
        conservée au plus 400 jours. Les applications conservent leurs propres données.
        """,
        .consentTitle: "Continuer vers {{client}} ?",
        .consentAsks:
            """
        <strong>{{client}}</strong> demande à vous connecter. Votre nom et votre adresse e-mail lui seront \
        transmis{{^hasApps}}.{{/hasApps}}{{#hasApps}}, et jusqu’à votre déconnexion il pourra agir en votre nom dans \
         :{{/hasApps}}
        """,
        .consentWarning:
            """
        Ne continuez que si vous venez de lancer cette demande vous-même. Vous serez redirigé vers \
        <code>{{target}}</code>.
        """,
        .deviceTitle: "Connecter un appareil",
        .deviceLabel: "Saisissez le code affiché par l’appareil.",
        .deviceWarning:
            """
        Ne saisissez jamais un code reçu par message ou par téléphone : l’expéditeur serait connecté à votre place.
        """,
        .deviceNotACode: "Ce n’est pas un code de huit lettres, comme WDJB-MJHT.",
        .deviceTooMany: "Trop de codes ont été essayés. Patientez une minute, puis saisissez à nouveau le code.",
        .deviceUnknown: "Aucun appareil n’attend avec ce code. Un code est valable dix minutes, une seule fois.",
        .deviceExpired: "Le code a expiré ou a déjà été utilisé.",
        .deviceConsentTitle: "Se connecter à {{client}} sur un appareil ?",
        .deviceCompare: "Comparez : l’appareil à connecter affiche",
        .deviceConsentWarning:
            """
        Si vous n’avez pas lancé cette demande sur un appareil devant vous, annulez. L’expéditeur du code ou du lien \
         serait connecté à votre place.
        """,
        .deviceAllow: "Les codes sont identiques : se connecter",
        .deviceDoneTitle: "L’appareil est connecté",
        .deviceDeniedTitle: "L’appareil a été refusé",
        .deviceDone:
            """
        <strong>{{client}}</strong> vous connecte sur l’appareil dans quelques secondes. Vous pouvez fermer cette \
        page.
        """,
        .deviceDenied:
            "Rien n’a été connecté. Si vous n’avez pas lancé cette demande, vous n’avez rien d’autre à faire.",
        .signInWithPassword: "Se connecter avec un mot de passe",
        .accountFormName: "Adresse e-mail ou nom d’utilisateur",
        .accountFormPassword: "Mot de passe",
        .accountFormForgotten:
            """
        Si vous avez oublié le mot de passe, demandez à l’administrateur un lien pour en choisir un autre.
        """,
        .accountFormWrong: "Le nom ou le mot de passe est incorrect.",
        .accountFormLate: "Cela a pris trop de temps. Connectez-vous à nouveau.",
        .accountFormWait: "Trop de tentatives. Patientez {{seconds}} secondes, puis réessayez.",
        .codeTitle: "Saisir un code",
        .codeLabel: "Les six chiffres de votre application d’authentification, ou l’un de vos codes de secours",
        .codeWrong: "Le code est incorrect ou a déjà servi.",
        .chooseTitle: "Choisissez un mot de passe",
        .chooseNew: "Nouveau mot de passe, au moins 12 caractères",
        .chooseRepeat: "Encore une fois le même",
        .chooseButton: "Définir le mot de passe",
        .chooseNote:
            """
        Plusieurs mots conviennent, les espaces aussi. Vous pouvez coller depuis un gestionnaire de mots de \
        passe.
        """,
        .chooseDiffer: "Les deux mots de passe sont différents. Saisissez deux fois le même.",
        .chosenTitle: "Votre mot de passe est défini",
        .chosenText: "Le lien a été utilisé. Désormais, vous vous connectez avec ce mot de passe.",
        .passwordShort: "Utilisez au moins {{count}} caractères. Plusieurs mots conviennent.",
        .passwordLong: "Utilisez au plus {{count}} octets.",
        .passwordRepetitive: "Utilisez au moins {{count}} caractères différents.",
        .passwordPersonal:
            """
        Le mot de passe contient votre nom, votre adresse e-mail ou le nom de ce site. Choisissez-en un \
        autre.
        """,
        .passwordCommon:
            "Beaucoup de gens utilisent ce mot de passe : il est parmi les premiers essayés. Choisissez-en un autre.",
        .passwordBreached:
            "Ce mot de passe est connu publiquement à la suite d’une fuite de données. Choisissez-en un autre.",
        .credentialsTitle: "Mot de passe et codes",
        .credentialsChange: "Changer le mot de passe",
        .credentialsCurrent: "Mot de passe actuel",
        .credentialsEnds: "Cela vous déconnecte partout.",
        .credentialsWrong: "Le mot de passe actuel est incorrect.",
        .credentialsConflict: "Le compte a changé entre-temps. Réessayez.",
        .credentialsDone: "Terminé",
        .credentialsChanged:
            "Le mot de passe est changé et vous êtes déconnecté partout. Connectez-vous avec le nouveau.",
        .passkeySignIn: "Se connecter avec une clé d’accès",
        .passkeyTitle: "Confirmez avec votre clé d’accès",
        .passkeyIntro: """
        Cette page demande votre clé d’accès : votre appareil vous demande votre empreinte, votre visage ou son \
        code.
        """,
        .passkeyUse: "Utiliser la clé d’accès",
        .passkeyNone: """
        Cette page demande une clé d’accès, et vous n’en avez pas encore. Ajoutez-en une sur cet appareil, puis \
        continuez.
        """,
        .passkeyAdd: "Ajouter une clé d’accès",
        .passkeyNoScript: "Les clés d’accès nécessitent JavaScript, désactivé dans ce navigateur.",
        .passkeyUnsupported: "Ce navigateur ne gère pas les clés d’accès. Utilisez un autre navigateur ou appareil.",
        .passkeyCancelled: "Aucune clé d’accès n’a été utilisée. Réessayez.",
        .passkeyRegistered: "Cet appareil a déjà une clé d’accès pour vous.",
        .passkeyFailed: "La clé d’accès n’a pas été acceptée. Utilisez-en une autre ou réessayez.",
        .passkeyCopied: "Cette clé d’accès semble avoir été copiée. Supprimez-la et utilisez-en une autre.",
        .passkeyLimit:
            "Cette clé d’accès ne peut pas être ajoutée : vous l’avez déjà, ou vous avez atteint le nombre autorisé.",
        .passkeysTitle: "Vos clés d’accès",
        .passkeysIntro: """
        Avec une clé d’accès, votre appareil confirme votre identité par empreinte, visage ou code. Rien de cela \
        ne quitte l’appareil.
        """,
        .passkeysEmpty: "Vous n’avez pas encore de clé d’accès.",
        .passkeysAdded: "ajoutée le {{added}}",
        .passkeysUsed: "dernière utilisation le {{used}}",
        .passkeysSynced: "synchronisée",
        .passkeysRemove: "Supprimer",
        .passkeysName: "Nom de la clé d’accès",
        .passkeysConfirm: "Pour ajouter ou supprimer une clé d’accès, confirmez d’abord votre identité.",
        .passkeysConfirmButton: "Confirmer",
        .passkeysLost: "Si vous avez perdu votre seule clé d’accès, un administrateur peut la supprimer.",
        .passkeysChanged: "Vos clés d’accès ont été modifiées.",
        .factorTitle: "Codes à la connexion",
        .factorLeft: "Une application d’authentification est configurée. Il vous reste {{left}} codes de secours.",
        .factorRemove: "Supprimer l’application d’authentification",
        .factorRemoved: "L’application d’authentification est supprimée. Désormais, le mot de passe suffit.",
        .factorAddTitle: "Ajouter des codes à la connexion",
        .factorAddIntro:
            """
        Ouvrez le lien sur l’appareil où se trouve votre application d’authentification, ou saisissez-y le \
        secret.
        """,
        .factorOpen: "Ouvrir dans une application d’authentification",
        .factorDigits: "Les six chiffres affichés par l’application",
        .factorAdd: "Ajouter l’application d’authentification",
        .factorLate: "Cela a pris trop de temps. Reprenez le nouveau secret.",
        .factorWrong: "Le code est incorrect. Vérifiez l’heure de l’appareil.",
        .recoveryTitle: "Conservez ces codes",
        .recoveryText:
            """
        L’application d’authentification est configurée. Si vous la perdez, chacun de ces codes vous \
        connecte une fois. Ils ne sont affichés que maintenant.
        """,
        .recoveryKept: "Je les ai notés",
        .connectedTitle: "Comptes associés",
        .connectedFirst:
            """
        Les applications vous connaissent par votre premier compte, quel que soit celui avec lequel vous vous \
        connectez.
        """,
        .connectedUsed:
            """
        Ces comptes sont les vôtres. Les applications vous connaissent par le compte avec lequel vous vous \
        connectez.
        """,
        .connectedHere: "cette connexion",
        .connectedMain: "premier compte",
        .connectedAdded: "associé le {{added}}",
        .connectedRemove: "Dissocier",
        .connectedAdd: "Associer un autre compte",
        .connectedConfirm: "Pour associer ou dissocier un compte, confirmez d’abord votre identité.",
        .connectedChanged: "Vos comptes associés ont été modifiés.",
        .connectTitle: "Associer ce compte ?",
        .connectText: "Vous venez de vous connecter en tant que <strong>{{name}}</strong> avec {{provider}}.",
        .connectFirst:
            """
        Ensuite, quand vous vous connecterez avec ce compte, les applications vous connaîtront par votre premier \
        compte et non plus par celui-ci.
        """,
        .connectWarning: "Ne l’associez que s’il vous appartient : avec lui, on se connecte à votre place.",
        .connectAllow: "Associer",
        .connectFailed:
            """
        Le compte n’a pas été associé : il l’est déjà ailleurs, est celui de cette connexion, ou le nombre \
        permis est atteint.
        """,
        .passkeyLate: "La page est restée ouverte trop longtemps. Réessayez.",
        .credentialsPasskeys:
            """
        Le mot de passe est modifié et vous êtes déconnecté partout. Vos clés d’accès et comptes associés vous \
        connectent toujours : consultez votre compte et supprimez ce que vous ne connaissez pas.
        """,
        .recoverLink: "Mot de passe oublié ?",
        .recoverTitle: "Choisir un autre mot de passe",
        .recoverIntro:
            "Indiquez l’adresse e-mail de votre compte. Vous recevrez un lien pour choisir un autre mot de passe.",
        .joinLink: "Créer un compte",
        .joinTitle: "Créer un compte",
        .joinIntro: "Indiquez votre adresse e-mail. Vous recevrez un lien pour choisir un mot de passe.",
        .joinDomains: "Seulement pour les adresses de : {{domains}}",
        .joinName: "Nom (facultatif)",
        .mailAddress: "Adresse e-mail",
        .mailSend: "Envoyer le lien",
        .mailBad: "Cette adresse e-mail ne peut pas être utilisée ici.",
        .mailWait: "Trop de demandes. Attendez {{minutes}} minutes, puis réessayez.",
        .mailSentTitle: "Consultez votre boîte de réception",
        .mailSent:
            """
        Si l’adresse peut être utilisée ici, un message avec un lien est en route. Il est valable une heure. Si \
        rien n’arrive, regardez dans les indésirables.
        """,
    ]
}
