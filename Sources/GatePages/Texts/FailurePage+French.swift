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
    ]
}
