// SPDX-License-Identifier: Apache-2.0

/// A text of the pages, by its name in `pages.texts`.
///
/// Each is HTML with variables of the page between two braces.
package enum PageText: String, CaseIterable, Sendable {
    /// “Sign in”.
    case signIn = "sign_in"
    /// “Sign in with {{provider}}”.
    case signInWith = "sign_in_with"
    /// “Sign in again”.
    case signInAgain = "sign_in_again"
    /// “Sign in with another account”.
    case otherAccount = "other_account"
    /// “Sign out”.
    case signOut = "sign_out"
    /// “Sign out everywhere”.
    case signOutEverywhere = "sign_out_everywhere"
    /// “Show my apps”.
    case showApps = "show_apps"
    /// “Your account”.
    case showAccount = "show_account"
    /// “Try again”.
    case retry
    /// “Continue”.
    case `continue`
    /// “Cancel”.
    case cancel
    /// “this app”.
    case thisApp = "this_app"
    /// “You are signed in as {{user}} ({{account}})”.
    case signedInAs = "signed_in_as"
    /// “You used the account of {{user}} ({{account}})”.
    case usedAccount = "used_account"
    /// “If you ask for help, give these: {{code}} and {{incident}}”.
    case help
    /// “Help: {{supportText}}”.
    case support
    /// “to continue to {{app}}”.
    case chooserIntro = "chooser_intro"
    /// “Not responding right now”.
    case unavailable
    /// “Or find your way to sign in by your email address”.
    case discoveryLabel = "discovery_label"
    /// “No sign-in service is set up for this email address. Choose one below”.
    case discoveryNone = "discovery_none"
    /// “The link that led you here cannot be followed. After signing in you get to the start page”.
    case linkDropped = "link_dropped"
    /// “Everywhere means: in all browsers and on all devices that use this account here”.
    case everywhereNote = "everywhere_note"
    /// “You are signed out”.
    case signedOutTitle = "signed_out_title"
    /// “You may still be signed in at the sign-in service that you used”.
    case signedOutUnknown = "signed_out_unknown"
    /// “Your session in this browser has ended”.
    case signedOutComplete = "signed_out_complete"
    /// “You may still be signed in at {{provider}}. On a shared computer, sign out there as well”.
    case signedOutHere = "signed_out_here"
    /// “You are signed out at {{provider}} as well”.
    case signedOutThere = "signed_out_there"
    /// “All your other sessions here have ended, too”.
    case signedOutOthers = "signed_out_others"
    /// “Your apps”.
    case appsTitle = "apps_title"
    /// “There is no app here that this account may open”.
    case appsNone = "apps_none"
    /// “Search apps”.
    case appsSearch = "apps_search"
    /// “Search”.
    case appsSearchButton = "apps_search_button"
    /// “No app matches this search”.
    case appsNoMatch = "apps_no_match"
    /// “Show all apps”.
    case appsAll = "apps_all"
    /// “With another sign-in”.
    case appsElsewhere = "apps_elsewhere"
    /// “Needs {{providers}}”.
    case appsNeeds = "apps_needs"
    /// “Until {{until}}”.
    case appsUntil = "apps_until"
    /// “More apps exist than this page lists; search for them”.
    case appsMore = "apps_more"
    /// “Your account”.
    case accountTitle = "account_title"
    /// “This is what apps get to know about you”.
    case accountIntro = "account_intro"
    /// “Name”.
    case accountName = "account_name"
    /// “User name”.
    case accountUsername = "account_username"
    /// “Email address”.
    case accountEmail = "account_email"
    /// “not verified, so apps do not get it”.
    case accountUnverified = "account_unverified"
    /// “Signed in with”.
    case accountProvider = "account_provider"
    /// “Groups”.
    case accountGroups = "account_groups"
    /// “none”.
    case accountNoGroups = "account_no_groups"
    /// “and {{count}} more”.
    case accountMoreGroups = "account_more_groups"
    /// “Apps for a limited time”.
    case accountLimited = "account_limited"
    /// “Key by which apps know you”.
    case accountKey = "account_key"
    /// “Signed in since”.
    case accountSince = "account_since"
    /// “Session ends”.
    case accountEnds = "account_ends"
    /// “or after {{idle}} without a request”.
    case accountEndsIdle = "account_ends_idle"
    /// “Where you are signed in”.
    case sessionsTitle = "sessions_title"
    /// “This browser”.
    case sessionsHere = "sessions_here"
    /// “Unknown device”.
    case sessionsUnknown = "sessions_unknown"
    /// “last used {{used}}, signed in {{began}}”.
    case sessionsUsed = "sessions_used"
    /// “End this session”.
    case sessionsEnd = "sessions_end"
    /// “This gateway keeps no list of sessions. To end one, sign out in that browser”.
    case sessionsNotKept = "sessions_not_kept"
    /// “The session has ended”.
    case sessionsEnded = "sessions_ended"
    /// “Only the {{shown}} sessions that were used last are listed; “Sign out everywhere” ends all”.
    case sessionsMore = "sessions_more"
    /// “What is kept”.
    case dataTitle = "data_title"
    /// “”.
    case dataText = "data_text"
    /// “Continue to {{client}}?”.
    case consentTitle = "consent_title"
    /// “”.
    case consentAsks = "consent_asks"
    /// “Continue only if you have just started this yourself. You will be sent to {{target}}”.
    case consentWarning = "consent_warning"
    /// “Connect a device”.
    case deviceTitle = "device_title"
    /// “Type the code that the device shows”.
    case deviceLabel = "device_label"
    /// “Never type a code that you got in a message or a call: the sender would be signed in as you”.
    case deviceWarning = "device_warning"
    /// “That is not a code of eight letters, such as WDJB-MJHT”.
    case deviceNotACode = "device_not_a_code"
    /// “Too many codes were tried. Wait a minute, then type the code again”.
    case deviceTooMany = "device_too_many"
    /// “No device waits with this code. A code is valid for ten minutes, once”.
    case deviceUnknown = "device_unknown"
    /// “The code has expired, or was used before”.
    case deviceExpired = "device_expired"
    /// “Sign in to {{client}} on a device?”.
    case deviceConsentTitle = "device_consent_title"
    /// “Compare: the device that you want to connect shows”.
    case deviceCompare = "device_compare"
    /// “”.
    case deviceConsentWarning = "device_consent_warning"
    /// “The codes are the same: sign in”.
    case deviceAllow = "device_allow"
    /// “The device is connected”.
    case deviceDoneTitle = "device_done_title"
    /// “The device was rejected”.
    case deviceDeniedTitle = "device_denied_title"
    /// “{{client}} signs you in on the device within some seconds. You can close this page”.
    case deviceDone = "device_done"
    /// “Nothing was signed in. If you did not start it, you need not do anything else”.
    case deviceDenied = "device_denied"
    /// “Sign in with a password”.
    case signInWithPassword = "sign_in_with_password"
    /// “Email address or user name”.
    case accountFormName = "account_form_name"
    /// “Password”.
    case accountFormPassword = "account_form_password"
    /// “If you have forgotten the password, ask the administrator for a link to choose another one”.
    case accountFormForgotten = "account_form_forgotten"
    /// “The name or the password is wrong”.
    case accountFormWrong = "account_form_wrong"
    /// “That took too long. Sign in once more”.
    case accountFormLate = "account_form_late"
    /// “Too many attempts. Wait {{seconds}} seconds, then try once more”.
    case accountFormWait = "account_form_wait"
    /// “Forgot your password?”.
    case recoverLink = "recover_link"
    /// “Choose another password”.
    case recoverTitle = "recover_title"
    /// “Type the email address of your account. You get a link with which you choose another password”.
    case recoverIntro = "recover_intro"
    /// “Create an account”.
    case joinLink = "join_link"
    /// “Create an account”.
    case joinTitle = "join_title"
    /// “Type your email address. You get a link with which you choose a password”.
    case joinIntro = "join_intro"
    /// “Only for email addresses of: {{domains}}”.
    case joinDomains = "join_domains"
    /// “Name (optional)”.
    case joinName = "join_name"
    /// “Email address”.
    case mailAddress = "mail_address"
    /// “Send the link”.
    case mailSend = "mail_send"
    /// “This is not an email address that can be used here”.
    case mailBad = "mail_bad"
    /// “Too many requests. Wait {{minutes}} minutes, then try once more”.
    case mailWait = "mail_wait"
    /// “Check your mailbox”.
    case mailSentTitle = "mail_sent_title"
    /// “If the address can be used here, a message with a link is on its way. It is valid for one hour. If nothing arrives, look into the spam folder”.
    case mailSent = "mail_sent"
    /// “Type a code”.
    case codeTitle = "code_title"
    /// “The six digits that your authenticator app shows, or one of your recovery codes”.
    case codeLabel = "code_label"
    /// “The code is wrong, or was used before”.
    case codeWrong = "code_wrong"
    /// “Choose a password”.
    case chooseTitle = "choose_title"
    /// “New password, at least 12 characters”.
    case chooseNew = "choose_new"
    /// “The same once more”.
    case chooseRepeat = "choose_repeat"
    /// “Set the password”.
    case chooseButton = "choose_button"
    /// “Several words are fine, and so are spaces. You can paste from a password manager”.
    case chooseNote = "choose_note"
    /// “The two passwords differ. Type the same one twice”.
    case chooseDiffer = "choose_differ"
    /// “Your password is set”.
    case chosenTitle = "chosen_title"
    /// “The link is used up. From now on you sign in with this password”.
    case chosenText = "chosen_text"
    /// “Use at least {{count}} characters. Several words are fine”.
    case passwordShort = "password_short"
    /// “Use at most {{count}} bytes”.
    case passwordLong = "password_long"
    /// “Use at least {{count}} different characters”.
    case passwordRepetitive = "password_repetitive"
    /// “The password contains your name, your email address or the name of this site. Choose another”.
    case passwordPersonal = "password_personal"
    /// “This is one of the passwords that are guessed first. Choose another”.
    case passwordCommon = "password_common"
    /// “This password is publicly known from a data breach. Choose another”.
    case passwordBreached = "password_breached"
    /// “Password and codes”.
    case credentialsTitle = "credentials_title"
    /// “Change the password”.
    case credentialsChange = "credentials_change"
    /// “Current password”.
    case credentialsCurrent = "credentials_current"
    /// “This signs you out everywhere”.
    case credentialsEnds = "credentials_ends"
    /// “The current password is wrong”.
    case credentialsWrong = "credentials_wrong"
    /// “The account has changed meanwhile. Try once more”.
    case credentialsConflict = "credentials_conflict"
    /// “Done”.
    case credentialsDone = "credentials_done"
    /// “The password is changed, and you are signed out everywhere. Sign in with the new one”.
    case credentialsChanged = "credentials_changed"
    /// “Your password is changed, and you are signed out everywhere. Your passkeys still sign you in: remove those that you do not know”.
    case credentialsPasskeys = "credentials_passkeys"
    /// “Codes at sign-in”.
    case factorTitle = "factor_title"
    /// “An authenticator app is set up. You have {{left}} recovery codes left”.
    case factorLeft = "factor_left"
    /// “Remove the authenticator app”.
    case factorRemove = "factor_remove"
    /// “The authenticator app is removed. From now on the password is enough”.
    case factorRemoved = "factor_removed"
    /// “Add codes at sign-in”.
    case factorAddTitle = "factor_add_title"
    /// “Open the link on the device with your authenticator app, or type the secret there”.
    case factorAddIntro = "factor_add_intro"
    /// “Open in an authenticator app”.
    case factorOpen = "factor_open"
    /// “The six digits that the app shows”.
    case factorDigits = "factor_digits"
    /// “Add the authenticator app”.
    case factorAdd = "factor_add"
    /// “That took too long. Take the new secret over”.
    case factorLate = "factor_late"
    /// “The code is wrong. Check the clock of the device”.
    case factorWrong = "factor_wrong"
    /// “Sign in with a passkey”.
    case passkeySignIn = "passkey_sign_in"
    /// “Confirm with your passkey”.
    case passkeyTitle = "passkey_title"
    /// “This page needs your passkey: your device asks for your fingerprint, your face or its PIN”.
    case passkeyIntro = "passkey_intro"
    /// “Use the passkey”.
    case passkeyUse = "passkey_use"
    /// “This page needs a passkey, and you have none yet. Add one on this device, then continue”.
    case passkeyNone = "passkey_none"
    /// “Add a passkey”.
    case passkeyAdd = "passkey_add"
    /// “Passkeys need JavaScript, which is off in this browser”.
    case passkeyNoScript = "passkey_no_script"
    /// “This browser cannot use passkeys. Use another browser or device”.
    case passkeyUnsupported = "passkey_unsupported"
    /// “No passkey was used. Try once more”.
    case passkeyCancelled = "passkey_cancelled"
    /// “This device has a passkey for you already”.
    case passkeyRegistered = "passkey_registered"
    /// “The passkey was not accepted. Use another one or try once more”.
    case passkeyFailed = "passkey_failed"
    /// “This passkey seems to have been copied. Remove it and use another one”.
    case passkeyCopied = "passkey_copied"
    /// “This passkey cannot be added: you have it already, or have as many as are allowed”.
    case passkeyLimit = "passkey_limit"
    /// “The page was open for too long. Try once more”.
    case passkeyLate = "passkey_late"
    /// “Your passkeys”.
    case passkeysTitle = "passkeys_title"
    /// “With a passkey your device confirms that it is you, by fingerprint, face or PIN. Nothing of that leaves the device”.
    case passkeysIntro = "passkeys_intro"
    /// “You have no passkey yet”.
    case passkeysEmpty = "passkeys_empty"
    /// “added {{added}}”.
    case passkeysAdded = "passkeys_added"
    /// “last used {{used}}”.
    case passkeysUsed = "passkeys_used"
    /// “synced”.
    case passkeysSynced = "passkeys_synced"
    /// “Remove”.
    case passkeysRemove = "passkeys_remove"
    /// “Name of the passkey”.
    case passkeysName = "passkeys_name"
    /// “To add or remove a passkey, confirm first that it is you”.
    case passkeysConfirm = "passkeys_confirm"
    /// “Confirm”.
    case passkeysConfirmButton = "passkeys_confirm_button"
    /// “If you have lost your only passkey, an administrator can remove it”.
    case passkeysLost = "passkeys_lost"
    /// “Your passkeys have changed”.
    case passkeysChanged = "passkeys_changed"
    /// “Connected accounts”.
    case connectedTitle = "connected_title"
    /// “Apps know you by your first account, whichever of your accounts you sign in with”.
    case connectedFirst = "connected_first"
    /// “These accounts are yours. Apps know you by the account that you sign in with”.
    case connectedUsed = "connected_used"
    /// “this sign-in”.
    case connectedHere = "connected_here"
    /// “first account”.
    case connectedMain = "connected_main"
    /// “connected {{added}}”.
    case connectedAdded = "connected_added"
    /// “Disconnect”.
    case connectedRemove = "connected_remove"
    /// “Connect another account”.
    case connectedAdd = "connected_add"
    /// “To connect or disconnect an account, confirm first that it is you”.
    case connectedConfirm = "connected_confirm"
    /// “Your connected accounts have changed”.
    case connectedChanged = "connected_changed"
    /// “Connect this account?”.
    case connectTitle = "connect_title"
    /// “You have just signed in as <strong>{{name}}</strong> with {{provider}}”.
    case connectText = "connect_text"
    /// “From then on apps know you by your first account when you sign in with this one, and no longer by this one itself”.
    case connectFirst = "connect_first"
    /// “Connect it only if it is your own: with it one signs in as you”.
    case connectWarning = "connect_warning"
    /// “Connect”.
    case connectAllow = "connect_allow"
    /// “The account was not connected: it is connected elsewhere, is the one you are signed in with, or is one too many”.
    case connectFailed = "connect_failed"
    /// “Keep these codes”.
    case recoveryTitle = "recovery_title"
    /// “The authenticator app is set up. If you lose it, each of these codes signs you in once. They are …”.
    case recoveryText = "recovery_text"
    /// “I have written them down”.
    case recoveryKept = "recovery_kept"
}

extension PageText {
    /// The English texts.
    static let english: [PageText: String] = [
        .signIn: "Sign in",
        .signInWith: "Sign in with {{provider}}",
        .signInAgain: "Sign in again",
        .otherAccount: "Sign in with another account",
        .signOut: "Sign out",
        .signOutEverywhere: "Sign out everywhere",
        .showApps: "Show my apps",
        .showAccount: "Your account",
        .retry: "Try again",
        .`continue`: "Continue",
        .cancel: "Cancel",
        .thisApp: "this app",
        .signedInAs: "You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .usedAccount: "You used the account of <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .help: "If you ask for help, give these: <code>{{code}}</code> and <code>{{incident}}</code>",
        .support: "Help: <a href=\"{{supportURL}}\">{{supportText}}</a>",
        .chooserIntro: "to continue to <strong>{{app}}</strong>",
        .unavailable: "Not responding right now",
        .discoveryLabel: "Or find your way to sign in by your email address",
        .discoveryNone: "No sign-in service is set up for this email address. Choose one below.",
        .linkDropped: "The link that led you here cannot be followed. After signing in you get to the start page.",
        .everywhereNote: "Everywhere means: in all browsers and on all devices that use this account here.",
        .signedOutTitle: "You are signed out",
        .signedOutUnknown: "You may still be signed in at the sign-in service that you used.",
        .signedOutComplete: "Your session in this browser has ended.",
        .signedOutHere: "You may still be signed in at {{provider}}. On a shared computer, sign out there as well.",
        .signedOutThere: "You are signed out at {{provider}} as well.",
        .signedOutOthers: "All your other sessions here have ended, too.",
        .appsTitle: "Your apps",
        .appsNone: "There is no app here that this account may open.",
        .appsSearch: "Search apps",
        .appsSearchButton: "Search",
        .appsNoMatch: "No app matches this search.",
        .appsAll: "Show all apps",
        .appsElsewhere: "With another sign-in",
        .appsNeeds: "Needs {{providers}}",
        .appsUntil: "Until {{until}}",
        .appsMore: "More apps exist than this page lists; search for them.",
        .accountTitle: "Your account",
        .accountIntro: "This is what apps get to know about you.",
        .accountName: "Name",
        .accountUsername: "User name",
        .accountEmail: "Email address",
        .accountUnverified: "not verified, so apps do not get it",
        .accountProvider: "Signed in with",
        .accountGroups: "Groups",
        .accountNoGroups: "none",
        .accountMoreGroups: "and {{count}} more",
        .accountLimited: "Apps for a limited time",
        .accountKey: "Key by which apps know you",
        .accountEnds: "Session ends",
        .accountEndsIdle: "or after {{idle}} without a request",
        .accountSince: "Signed in since",
        .sessionsTitle: "Where you are signed in",
        .sessionsHere: "This browser",
        .sessionsUnknown: "Unknown device",
        .sessionsUsed: "last used {{used}}, signed in {{began}}",
        .sessionsEnd: "End this session",
        .sessionsNotKept: "This gateway keeps no list of sessions. To end one, sign out in that browser.",
        .sessionsEnded: "The session has ended.",
        .sessionsMore: "Only the {{shown}} sessions that were used last are listed; “Sign out everywhere” ends all.",
        .dataTitle: "What is kept",
        .dataText:
            """
        While you are signed in, the gateway keeps the facts above, the kind of your browser, and the times of your \
        sign-in and last use, all encrypted. Your last sign-in is remembered for at most 400 days. Apps keep data of \
         their own.
        """,
        .consentTitle: "Continue to {{client}}?",
        .consentAsks:
            """
        <strong>{{client}}</strong> asks to sign you in. It gets your name and your email \
        address{{^hasApps}}.{{/hasApps}}{{#hasApps}}, and until you sign out it can act for you in:{{/hasApps}}
        """,
        .consentWarning:
            "Continue only if you have just started this yourself. You will be sent to <code>{{target}}</code>.",
        .deviceTitle: "Connect a device",
        .deviceLabel: "Type the code that the device shows.",
        .deviceWarning: "Never type a code that you got in a message or a call: the sender would be signed in as you.",
        .deviceNotACode: "That is not a code of eight letters, such as WDJB-MJHT.",
        .deviceTooMany: "Too many codes were tried. Wait a minute, then type the code again.",
        .deviceUnknown: "No device waits with this code. A code is valid for ten minutes, once.",
        .deviceExpired: "The code has expired, or was used before.",
        .deviceConsentTitle: "Sign in to {{client}} on a device?",
        .deviceCompare: "Compare: the device that you want to connect shows",
        .deviceConsentWarning:
            """
        If you did not start this on a device in front of you, cancel. The sender of the code or the link would be \
        signed in as you.
        """,
        .deviceAllow: "The codes are the same: sign in",
        .deviceDoneTitle: "The device is connected",
        .deviceDeniedTitle: "The device was rejected",
        .deviceDone:
            "<strong>{{client}}</strong> signs you in on the device within some seconds. You can close this page.",
        .deviceDenied: "Nothing was signed in. If you did not start it, you need not do anything else.",
        .signInWithPassword: "Sign in with a password",
        .accountFormName: "Email address or user name",
        .accountFormPassword: "Password",
        .accountFormForgotten:
            "If you have forgotten the password, ask the administrator for a link to choose another one.",
        .accountFormWrong: "The name or the password is wrong.",
        .accountFormLate: "That took too long. Sign in once more.",
        .accountFormWait: "Too many attempts. Wait {{seconds}} seconds, then try once more.",
        .codeTitle: "Type a code",
        .codeLabel: "The six digits that your authenticator app shows, or one of your recovery codes",
        .codeWrong: "The code is wrong, or was used before.",
        .chooseTitle: "Choose a password",
        .chooseNew: "New password, at least 12 characters",
        .chooseRepeat: "The same once more",
        .chooseButton: "Set the password",
        .chooseNote: "Several words are fine, and so are spaces. You can paste from a password manager.",
        .chooseDiffer: "The two passwords differ. Type the same one twice.",
        .chosenTitle: "Your password is set",
        .chosenText: "The link is used up. From now on you sign in with this password.",
        .passwordShort: "Use at least {{count}} characters. Several words are fine.",
        .passwordLong: "Use at most {{count}} bytes.",
        .passwordRepetitive: "Use at least {{count}} different characters.",
        .passwordPersonal:
            "The password contains your name, your email address or the name of this site. Choose another.",
        .passwordCommon: "Many users have this password, so it is guessed first. Choose another.",
        .passwordBreached: "This password is publicly known from a data breach. Choose another.",
        .credentialsTitle: "Password and codes",
        .credentialsChange: "Change the password",
        .credentialsCurrent: "Current password",
        .credentialsEnds: "This signs you out everywhere.",
        .credentialsWrong: "The current password is wrong.",
        .credentialsConflict: "The account has changed meanwhile. Try once more.",
        .credentialsDone: "Done",
        .credentialsChanged:
            "The password is changed, and you are signed out everywhere. Sign in with the new one.",
        .factorTitle: "Codes at sign-in",
        .factorLeft: "An authenticator app is set up. You have {{left}} recovery codes left.",
        .factorRemove: "Remove the authenticator app",
        .factorRemoved: "The authenticator app is removed. From now on the password is enough.",
        .factorAddTitle: "Add codes at sign-in",
        .factorAddIntro: "Open the link on the device with your authenticator app, or type the secret there.",
        .factorOpen: "Open in an authenticator app",
        .factorDigits: "The six digits that the app shows",
        .factorAdd: "Add the authenticator app",
        .factorLate: "That took too long. Take the new secret over.",
        .factorWrong: "The code is wrong. Check the clock of the device.",
        .passkeySignIn: "Sign in with a passkey",
        .passkeyTitle: "Confirm with your passkey",
        .passkeyIntro: "This page needs your passkey: your device asks for your fingerprint, your face or its PIN.",
        .passkeyUse: "Use the passkey",
        .passkeyNone: "This page needs a passkey, and you have none yet. Add one on this device, then continue.",
        .passkeyAdd: "Add a passkey",
        .passkeyNoScript: "Passkeys need JavaScript, which is off in this browser.",
        .passkeyUnsupported: "This browser cannot use passkeys. Use another browser or device.",
        .passkeyCancelled: "No passkey was used. Try once more.",
        .passkeyRegistered: "This device has a passkey for you already.",
        .passkeyFailed: "The passkey was not accepted. Use another one or try once more.",
        .passkeyCopied: "This passkey seems to have been copied. Remove it and use another one.",
        .passkeyLimit: "This passkey cannot be added: you have it already, or have as many as are allowed.",
        .passkeysTitle: "Your passkeys",
        .passkeysIntro: """
        With a passkey your device confirms that it is you, by fingerprint, face or PIN. Nothing of that leaves \
        the device.
        """,
        .passkeysEmpty: "You have no passkey yet.",
        .passkeysAdded: "added {{added}}",
        .passkeysUsed: "last used {{used}}",
        .passkeysSynced: "synced",
        .passkeysRemove: "Remove",
        .passkeysName: "Name of the passkey",
        .passkeysConfirm: "To add or remove a passkey, confirm first that it is you.",
        .passkeysConfirmButton: "Confirm",
        .passkeysLost: "If you have lost your only passkey, an administrator can remove it.",
        .passkeysChanged: "Your passkeys have changed.",
        .recoveryTitle: "Keep these codes",
        .recoveryText:
            """
        The authenticator app is set up. If you lose it, each of these codes signs you in once. They are \
        shown only now.
        """,
        .recoveryKept: "I have written them down",
        .connectedTitle: "Connected accounts",
        .connectedFirst: "Apps know you by your first account, whichever of your accounts you sign in with.",
        .connectedUsed: "These accounts are yours. Apps know you by the account that you sign in with.",
        .connectedHere: "this sign-in",
        .connectedMain: "first account",
        .connectedAdded: "connected {{added}}",
        .connectedRemove: "Disconnect",
        .connectedAdd: "Connect another account",
        .connectedConfirm: "To connect or disconnect an account, confirm first that it is you.",
        .connectedChanged: "Your connected accounts have changed.",
        .connectTitle: "Connect this account?",
        .connectText: "You have just signed in as <strong>{{name}}</strong> with {{provider}}.",
        .connectFirst:
            """
        From then on apps know you by your first account when you sign in with this one, and no longer by this \
        one itself.
        """,
        .connectWarning: "Connect it only if it is your own: with it one signs in as you.",
        .connectAllow: "Connect",
        .connectFailed:
            """
        The account was not connected: it is connected elsewhere, is the one you are signed in with, or is one \
        too many.
        """,
        .passkeyLate: "The page was open for too long. Try once more.",
        .credentialsPasskeys:
            """
        The password is changed, and you are signed out everywhere. Your passkeys and connected accounts still \
        sign you in: look at your account, and remove what you do not know.
        """,
        .recoverLink: "Forgot your password?",
        .recoverTitle: "Choose another password",
        .recoverIntro: "Type the email address of your account. You get a link with which you choose another password.",
        .joinLink: "Create an account",
        .joinTitle: "Create an account",
        .joinIntro: "Type your email address. You get a link with which you choose a password.",
        .joinDomains: "Only for email addresses of: {{domains}}",
        .joinName: "Name (optional)",
        .mailAddress: "Email address",
        .mailSend: "Send the link",
        .mailBad: "This is not an email address that can be used here.",
        .mailWait: "Too many requests. Wait {{minutes}} minutes, then try once more.",
        .mailSentTitle: "Check your mailbox",
        .mailSent:
            """
        If the address can be used here, a message with a link is on its way. It is valid for one hour. If \
        nothing arrives, look into the spam folder.
        """,
    ]
}
