// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Failure.Page {
    /// The heading and the text of each page in French, by its name.
    static let french: [String: (title: String, text: String)] = [
        "bad_request": (
            "La requête n’a pas été comprise",
            "L’adresse ou le formulaire qui a mené ici n’est pas correct. Revenez en arrière et réessayez."
        ),
        "please_sign_in": (
            "Veuillez vous connecter",
            "Cette page est réservée aux utilisateurs connectés."
        ),
        "not_allowed": (
            "La requête a été arrêtée",
            "La passerelle ne l’autorise pas."
        ),
        "app_not_found": (
            "Page introuvable",
            "Aucune application n’est configurée pour cette URL. Vérifiez l’adresse."
        ),
        "wrong_method": (
            "Cela ne fonctionne pas ici",
            "Cette adresse n’accepte pas ce type de requête."
        ),
        "too_large": (
            "C’est trop volumineux",
            "La requête dépasse la taille acceptée par cette application. Envoyez-en moins à la fois."
        ),
        "too_many": (
            "Trop de requêtes",
            "Patientez une minute, puis réessayez."
        ),
        "provider_failed": (
            "Le service de connexion ne répond pas correctement",
            "Vous n’y êtes pour rien. Réessayez dans une minute, ou choisissez un autre mode de connexion."
        ),
        "provider_not_verified": (
            "Ce mode de connexion n’est pas disponible pour le moment",
            """
            La passerelle n’a pas pu vérifier le service de connexion et ne lui a donc rien envoyé. Les \
            responsables ont été avertis. Choisissez un autre mode de connexion, ou réessayez plus tard.
            """
        ),
        "app_failed": (
            "L’application ne répond pas",
            "Vous n’y êtes pour rien : l’application est en panne. Réessayez dans une minute."
        ),
        "app_timed_out": (
            "L’application met trop de temps",
            "L’application n’a pas répondu à temps. Réessayez dans une minute."
        ),
        "maintenance": (
            "Cette application est en maintenance",
            "Elle reviendra bientôt ; réessayez dans quelques minutes."
        ),
        "overloaded": (
            "Indisponible pour le moment",
            "Réessayez dans quelques secondes."
        ),
        "internal_error": (
            "Une erreur s’est produite",
            "La passerelle a rencontré une erreur ; les détails sont dans son journal."
        ),
        "sign_in_not_completed": (
            "Cette connexion ne peut pas aboutir",
            """
            Elle a pris trop de temps, a déjà servi ou a commencé dans une autre fenêtre ou un autre navigateur. \
            Rien n’est cassé : reconnectez-vous.
            """
        ),
        "account_too_large": (
            "Votre compte contient trop de données",
            """
            La connexion a réussi, mais les données de votre compte, en général ses groupes et ses rôles, ne \
            tiennent pas dans les cookies de votre navigateur. L’exploitant de cette passerelle doit en modifier \
            les réglages.
            """
        ),
        "sessions_not_kept": (
            "Impossible ici",
            """
            Cette passerelle ne conserve pas la liste des sessions et ne peut donc pas terminer celles d’autres \
            navigateurs. Déconnectez-vous dans chaque navigateur.
            """
        ),
        "sign_in_expired": (
            "Cette connexion a pris trop de temps",
            "Une connexion doit aboutir en dix minutes. Rien n’est cassé : reconnectez-vous."
        ),
        "app_not_known": (
            "Cette application ne peut pas vous connecter",
            """
            L’application qui vous a envoyé ici n’est pas configurée pour cette connexion. Son développeur doit \
            corriger cela.
            """
        ),
        "transfer_not_completed": (
            "Cette connexion ne peut pas aboutir",
            "Elle a pris trop de temps, a déjà servi ou a commencé dans un autre navigateur. Rien n’est cassé : réessayez."
        ),
        "return_path_too_long": (
            "Le lien était trop long",
            """
            Vous êtes connecté, mais l’adresse d’où vous veniez était trop longue pour être conservée. Ouvrez à \
            nouveau votre lien, ou repartez de la page d’accueil de l’application.
            """
        ),
        "return_path_lost": (
            "Le lien n’est plus connu",
            "L’adresse d’où vous veniez n’a pas été conservée assez longtemps. Ouvrez à nouveau votre lien."
        ),
        "form_not_sent": (
            "Votre formulaire n’a pas été envoyé",
            """
            Vous avez été déconnecté entre-temps, ou vous devez confirmer votre identité : {{app}} n’a pas reçu votre saisie. \
            Revenez en arrière pour la copier si votre navigateur l’affiche encore, puis connectez-vous et envoyez-la à nouveau.
            """
        ),
        "confirmation_needed": (
            "Votre session doit être confirmée",
            """
            Ouvrez l’application dans un autre onglet, ce qui confirme que vous êtes toujours connecté. Rechargez ensuite \
            cette page : votre saisie est envoyée à nouveau.
            """
        ),
        "not_signed_in": (
            "Vous n’êtes pas connecté",
            "La connexion a été annulée, ou ce compte ne peut pas être utilisé ici."
        ),
        "provider_interaction": (
            "Le service de connexion a une question à vous poser",
            "Ouvrez-le et connectez-vous, ou acceptez ce qu’il demande, puis recommencez."
        ),
        "access_denied": (
            "Vous ne pouvez pas ouvrir {{app}}",
            """
            Ce compte n’y a pas accès. Si vous avez un autre compte, connectez-vous avec celui-ci. Sinon, \
            demandez l’accès aux responsables.
            """
        ),
        "access_undecided": (
            "Vous ne pouvez pas ouvrir {{app}}",
            """
            Le service de connexion n’a pas fourni assez d’informations sur votre compte pour décider. Vous \
            reconnecter peut aider.
            """
        ),
        "provider_not_found": (
            "Mode de connexion inconnu",
            "La passerelle n’a aucun service de connexion de ce nom."
        ),
        "endpoint_not_found": (
            "Page introuvable",
            "La passerelle n’a aucune page à cette adresse."
        ),
        "misdirected": (
            "Mauvaise connexion",
            "Votre navigateur a utilisé une connexion destinée à un autre site. Rechargez la page."
        ),
        "certificate_needed": (
            "Un certificat est nécessaire",
            """
            Pour ouvrir {{app}}, votre navigateur doit présenter un certificat de vous ou de votre appareil, et il n’en \
            a présenté aucun qui soit accepté. Sont acceptés les certificats de : {{issuers}}. Si vous venez d’en \
            installer un, fermez le navigateur puis rouvrez-le.
            """
        ),
        "certificate_rejected": (
            "Votre certificat n’est pas accepté",
            """
            Le certificat que votre navigateur a présenté ne peut pas être utilisé ici : il a peut-être expiré ou a été \
            révoqué. Demandez-en un autre aux opérateurs. Sont acceptés les certificats de : {{issuers}}.
            """
        ),
        "not_navigation": (
            "Vous ne pouvez pas vous connecter ici",
            "Une connexion commence dans sa propre fenêtre, pas à l’intérieur d’une autre page."
        ),
        "cross_site": (
            "La requête a été arrêtée",
            """
            Un autre site a envoyé votre navigateur ici pour modifier quelque chose. Si c’est ce que vous \
            vouliez, faites-le dans l’application elle-même.
            """
        ),
        "unreadable": (
            "La requête n’a pas été comprise",
            """
            Votre navigateur a envoyé quelque chose que la passerelle n’accepte pas. Vérifiez l’adresse, ou \
            revenez en arrière et réessayez.
            """
        ),
        "head_too_large": (
            "Votre navigateur a envoyé trop de données",
            "Il a probablement trop de cookies pour ce site. Supprimez les cookies de ce site et réessayez."
        ),
        "target_too_long": (
            "L’adresse est trop longue",
            "Elle a plus de caractères que la passerelle n’en accepte. Raccourcissez le lien."
        ),
        "too_slow": (
            "La requête a pris trop de temps",
            "La connexion était trop lente. Veuillez réessayer."
        ),
        "method_not_accepted": (
            "Cela ne fonctionne pas ici",
            "La passerelle n’accepte pas ce type de requête."
        ),
        "account_not_connected": (
            "Le compte n’a pas été associé",
            """
            C’est le compte de cette connexion, il est associé à d’autres, ou vous vous êtes déconnecté entre-temps.
            """
        ),
        "passkey_not_accepted": (
            "La clé d’accès n’a pas été acceptée",
            """
            Elle appartient à un autre compte, a été supprimée, ou la demande est trop ancienne. Utilisez une autre \
            clé d’accès ou réessayez.
            """
        ),
        "link_over": (
            "Ce lien n’est plus valide",
            "Il a déjà servi ou a expiré. Demandez-en un autre à l’administrateur."
        ),
        "provider_misconfigured": (
            "Ce mode de connexion est mal configuré",
            """
            Vous n’y êtes pour rien, et réessayer n’aide pas : les exploitants doivent le corriger. Choisissez un \
            autre mode de connexion, ou prévenez-les.
            """
        ),
        "app_not_verified": (
            "L’application n’a pas pu être vérifiée",
            """
            La passerelle n’a pas pu vérifier le serveur de l’application et ne lui a rien envoyé. Les exploitants \
            doivent corriger cela.
            """
        ),
        "app_not_understood": (
            "La réponse de l’application ne peut pas être affichée",
            "Vous n’y êtes pour rien. Si cela se reproduit, prévenez les exploitants de l’application."
        ),
        "app_leads_back": (
            "L’application renvoie à elle-même",
            """
            La requête est revenue à la passerelle et a été arrêtée. Les exploitants doivent corriger les réglages de \
            l’application.
            """
        ),
        "operators_needed": (
            "Indisponible pour le moment",
            """
            Les exploitants de cette passerelle doivent d’abord intervenir. Vos données ne sont pas perdues ; revenez \
            plus tard.
            """
        ),
        "callback_not_understood": (
            "La réponse du service de connexion n’a pas été comprise",
            """
            Elle est incomplète ou a été modifiée en chemin. Reconnectez-vous ; si cela n’aide pas, prévenez les \
            exploitants.
            """
        ),
        "sign_in_stopped": (
            "Cette connexion a été arrêtée",
            """
            La réponse ne vient pas du service de connexion avec lequel vous avez commencé : c’est peut-être une \
            attaque. Rien de vous n’y a été envoyé. Rouvrez l’application et connectez-vous ; si cela se reproduit, \
            prévenez les exploitants.
            """
        ),
        "authentication_stale": (
            "Une nouvelle connexion est nécessaire",
            """
            L’application demande une connexion toute récente, et le service de connexion ne vous l’a pas demandée. \
            Déconnectez-vous d’abord de ce service, puis reconnectez-vous.
            """
        ),
        "signed_out_meanwhile": (
            "Vous avez été déconnecté",
            "Vous avez été déconnecté, ici ou du service de connexion, pendant cette connexion. Reconnectez-vous."
        ),
        "other_organization": (
            "Ce compte appartient à une autre organisation",
            "Seuls les comptes de certaines organisations peuvent se connecter ici. Utilisez l’un d’eux."
        ),
        "credentials_wrong": (
            "Vous n’êtes pas connecté",
            "Le nom, le mot de passe ou le code n’était pas correct."
        ),
        "passkey_copied": (
            "La clé d’accès n’a pas été acceptée",
            "Elle semble avoir été copiée. Supprimez-la, utilisez-en une autre et prévenez les exploitants."
        ),
        "passkey_not_added": (
            "La clé d’accès n’a pas été ajoutée",
            """
            Vous l’avez déjà, en avez autant que permis, ou en avez ajouté une autre entre-temps. Rouvrez la page.
            """
        ),
        "address_not_accepted": (
            "Cette adresse n’est pas acceptée",
            """
            Elle contient des caractères que les serveurs lisent différemment, comme une barre oblique encodée. \
            Vérifiez le lien, ou demandez-en un autre à qui vous l’a donné.
            """
        ),
    ]
}
