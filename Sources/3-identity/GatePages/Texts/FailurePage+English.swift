// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Failure.Page {
    /// The heading and the text of each page in English, by its name; `{{app}}` is the name of the app.
    static let english: [String: (title: String, text: String)] = [
        "bad_request": (
            "The request was not understood",
            "The address or the form that led here is not right. Go back and try again."
        ),
        "please_sign_in": (
            "Please sign in",
            "This page is for signed-in users."
        ),
        "not_allowed": (
            "The request was stopped",
            "The gateway does not allow this."
        ),
        "app_not_found": (
            "Page not found",
            "No app is configured for this URL. Check the address."
        ),
        "wrong_method": (
            "That does not work here",
            "This address does not accept this kind of request."
        ),
        "too_large": (
            "That is too large",
            "The request has more bytes than this app accepts. Send less at a time."
        ),
        "too_many": (
            "Too many requests",
            "Please wait a minute and try again."
        ),
        "provider_failed": (
            "The sign-in service does not respond properly",
            "You are not the cause. Try again in a minute, or choose another way to sign in."
        ),
        "provider_not_verified": (
            "This way to sign in is not available right now",
            """
            The gateway could not verify the sign-in service, so it sent nothing there. The operators have been notified. \
            Choose another way to sign in, or try again later.
            """
        ),
        "app_failed": (
            "The app does not respond",
            "You are not the cause: the app is down. Try again in a minute."
        ),
        "app_timed_out": (
            "The app takes too long",
            "The app did not respond in time. Try again in a minute."
        ),
        "maintenance": (
            "This app is being worked on",
            "It will be back; please try again in a few minutes."
        ),
        "overloaded": (
            "Not available right now",
            "Please try again in a few seconds."
        ),
        "internal_error": (
            "Something went wrong",
            "The gateway failed, and the details are in its log."
        ),
        "sign_in_not_completed": (
            "This sign-in cannot be completed",
            """
            It took too long, was already used, or was started in another window or browser. Nothing is broken: sign in \
            again.
            """
        ),
        "account_too_large": (
            "Your account has too much data",
            """
            The sign-in has worked, but what is known of your account, usually its groups and roles, does not fit into the \
            cookies of your browser. The operator of this gateway has to change its settings.
            """
        ),
        "sessions_not_kept": (
            "Not possible here",
            "This gateway keeps no list of sessions, so it cannot end those of other browsers. Sign out in each browser."
        ),
        "sign_in_expired": (
            "This sign-in took too long",
            "A sign-in has to be completed within ten minutes. Nothing is broken: sign in again."
        ),
        "app_not_known": (
            "This app cannot sign you in",
            "The app that sent you here is not set up for this sign-in. Its developer has to correct that."
        ),
        "transfer_not_completed": (
            "This sign-in cannot be completed",
            "It took too long, was already used, or was started in another browser. Nothing is broken: try again."
        ),
        "return_path_too_long": (
            "The link was too long",
            """
            You are signed in, but the address that you came from was too long to be kept meanwhile. Open your link again, \
            or begin at the front page of the app.
            """
        ),
        "return_path_lost": (
            "The link is not known any more",
            "The address that you came from was not kept long enough. Open your link again."
        ),
        "form_not_sent": (
            "Your form was not sent",
            """
            You were signed out meanwhile, or have to confirm who you are, so {{app}} did not get what you entered. Go back to \
            copy it if your browser still shows it, then sign in and send it again.
            """
        ),
        "confirmation_needed": (
            "Your session has to be confirmed",
            """
            Open the app in another tab, which confirms that you are still signed in. Then reload this page: what you \
            entered is sent again.
            """
        ),
        "not_signed_in": (
            "You are not signed in",
            "The sign-in was cancelled, or this account may not be used here."
        ),
        "account_not_connected": (
            "The account was not connected",
            "It is the one that you are signed in with, is connected with others, or you signed out meanwhile."
        ),
        "passkey_not_accepted": (
            "The passkey was not accepted",
            """
            It belongs to another account, was removed, or the request is too old. Use another passkey or try once \
            more.
            """
        ),
        "link_over": (
            "This link is not valid any more",
            "It was used before, or it has expired. Ask the administrator for another one."
        ),
        "provider_interaction": (
            "The sign-in service has to ask you something",
            "Open it and sign in there, or agree to what it asks, then start once more."
        ),
        "access_denied": (
            "You may not open {{app}}",
            """
            This account has no access. If you have another account, sign in with that one. Otherwise ask the operators of \
            {{app}} for access.
            """
        ),
        "access_undecided": (
            "You may not open {{app}}",
            "The sign-in service did not provide enough about your account to decide. Signing in again may help."
        ),
        "provider_not_found": (
            "Unknown way to sign in",
            "The gateway has no sign-in service of this name."
        ),
        "endpoint_not_found": (
            "Page not found",
            "The gateway has no page at this address."
        ),
        "misdirected": (
            "Wrong connection",
            "Your browser used a connection that is for another site. Reload the page."
        ),
        "certificate_needed": (
            "A certificate is needed",
            """
            To open {{app}}, your browser has to present a certificate of you or of your device, and it presented none \
            that is accepted. Accepted are certificates of: {{issuers}}. If you have installed one just now, close the \
            browser and open it again.
            """
        ),
        "certificate_rejected": (
            "Your certificate is not accepted",
            """
            The certificate that your browser presented cannot be used here: it may have expired, or it was revoked. Ask \
            the operators for another one. Accepted are certificates of: {{issuers}}.
            """
        ),
        "not_navigation": (
            "You cannot sign in here",
            "A sign-in begins in a window of its own, not inside another page."
        ),
        "cross_site": (
            "The request was stopped",
            "Another site sent your browser here to change something. If you meant to, do it in the app itself."
        ),
        "unreadable": (
            "The request was not understood",
            """
            Your browser sent something that the gateway does not accept. Check the address, or go back and try again.
            """
        ),
        "head_too_large": (
            "Your browser sent too much",
            "Most likely it has too many cookies for this site. Delete the cookies of this site and try again."
        ),
        "target_too_long": (
            "The address is too long",
            "It has more characters than the gateway accepts. Shorten the link."
        ),
        "too_slow": (
            "The request took too long",
            "The connection was too slow. Please try again."
        ),
        "method_not_accepted": (
            "That does not work here",
            "The gateway does not accept this kind of request."
        ),
        "provider_misconfigured": (
            "This way to sign in is not set up correctly",
            """
            You are not the cause, and trying again does not help: the operators have to correct it. Choose another \
            way to sign in, or report it to them.
            """
        ),
        "app_not_verified": (
            "The app could not be verified",
            """
            The gateway could not verify the server of the app, so it sent nothing there. The operators have to \
            correct that.
            """
        ),
        "app_not_understood": (
            "The app sent a response that cannot be shown",
            "You are not the cause. If it happens again, report it to the operators of the app."
        ),
        "app_leads_back": (
            "The app leads back to itself",
            """
            The request came back to the gateway, so it was stopped. The operators have to correct the settings of \
            the app.
            """
        ),
        "operators_needed": (
            "Not available right now",
            "The operators of this gateway have to act first. Your data is not lost; come back later."
        ),
        "callback_not_understood": (
            "The response of the sign-in service was not understood",
            """
            It is incomplete, or was changed on the way here. Sign in again; if that does not help, report it \
            to the operators.
            """
        ),
        "sign_in_stopped": (
            "This sign-in was stopped",
            """
            The response did not come from the sign-in service that you began with, so it may be an attack. Nothing \
            of yours was sent there. Open the app again and sign in; report it to the operators if it happens once more.
            """
        ),
        "authentication_stale": (
            "A new sign-in is needed",
            """
            The app asks for a sign-in of just now, and the sign-in service did not ask you for one. Sign out there \
            first, then sign in again.
            """
        ),
        "signed_out_meanwhile": (
            "You were signed out",
            """
            You were signed out, here or at the sign-in service, while this sign-in was in progress. Sign in again.
            """
        ),
        "other_organization": (
            "This account belongs to another organization",
            "Only accounts of certain organizations may sign in here. Use an account of one of them."
        ),
        "credentials_wrong": (
            "You are not signed in",
            "The name, the password or the code was not right."
        ),
        "passkey_copied": (
            "The passkey was not accepted",
            "It seems to have been copied. Remove it, use another one, and report it to the operators."
        ),
        "passkey_not_added": (
            "The passkey was not added",
            """
            You have it already, have as many as are allowed, or have added another one in the meantime. Open the \
            page again.
            """
        ),
        "address_not_accepted": (
            "This address is not accepted",
            """
            It has characters that servers read in different ways, such as an encoded slash. Check the link, or ask \
            for another one where you got it.
            """
        ),
    ]
}
