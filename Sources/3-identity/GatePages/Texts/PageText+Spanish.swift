// SPDX-License-Identifier: Apache-2.0

extension PageText {
    /// The Spanish texts.
    static let spanish: [PageText: String] = [
        .signIn: "Iniciar sesión",
        .signInWith: "Iniciar sesión con {{provider}}",
        .signInAgain: "Iniciar sesión de nuevo",
        .otherAccount: "Iniciar sesión con otra cuenta",
        .signOut: "Cerrar sesión",
        .signOutEverywhere: "Cerrar sesión en todas partes",
        .showApps: "Ver mis aplicaciones",
        .showAccount: "Tu cuenta",
        .retry: "Reintentar",
        .`continue`: "Continuar",
        .cancel: "Cancelar",
        .thisApp: "esta aplicación",
        .signedInAs: "Has iniciado sesión como <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .usedAccount: "Has usado la cuenta de <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.",
        .help: "Si pides ayuda, indica esto: <code>{{code}}</code> y <code>{{incident}}</code>",
        .support: "Ayuda: <a href=\"{{supportURL}}\">{{supportText}}</a>",
        .chooserIntro: "para continuar a <strong>{{app}}</strong>",
        .unavailable: "No responde en este momento",
        .discoveryLabel: "O encuentra tu servicio de acceso con tu correo electrónico",
        .discoveryNone: "No hay ningún servicio de acceso para este correo electrónico. Elige uno de la lista.",
        .linkDropped:
            "El enlace que te ha traído aquí no se puede seguir. Después de iniciar sesión llegarás a la página de inicio.",
        .everywhereNote:
            "En todas partes significa: en todos los navegadores y dispositivos que usan esta cuenta aquí.",
        .signedOutTitle: "Has cerrado la sesión",
        .signedOutUnknown: "Es posible que tu sesión siga abierta en el servicio de acceso que usaste.",
        .signedOutComplete: "Tu sesión en este navegador ha terminado.",
        .signedOutHere:
            """
        Es posible que tu sesión siga abierta en {{provider}}. En un ordenador compartido, ciérrala también allí.
        """,
        .signedOutThere: "También has cerrado la sesión en {{provider}}.",
        .signedOutOthers: "También han terminado todas tus demás sesiones aquí.",
        .appsTitle: "Tus aplicaciones",
        .appsNone: "No hay ninguna aplicación que esta cuenta pueda abrir.",
        .appsSearch: "Buscar aplicaciones",
        .appsSearchButton: "Buscar",
        .appsNoMatch: "Ninguna aplicación coincide con esta búsqueda.",
        .appsAll: "Ver todas las aplicaciones",
        .appsElsewhere: "Con otro inicio de sesión",
        .appsNeeds: "Requiere {{providers}}",
        .appsUntil: "Hasta el {{until}}",
        .appsMore: "Hay más aplicaciones de las que muestra esta página; búscalas.",
        .accountTitle: "Tu cuenta",
        .accountIntro: "Esto es lo que las aplicaciones saben de ti.",
        .accountName: "Nombre",
        .accountUsername: "Nombre de usuario",
        .accountEmail: "Correo electrónico",
        .accountUnverified: "sin verificar, por eso las aplicaciones no lo reciben",
        .accountProvider: "Sesión iniciada con",
        .accountGroups: "Grupos",
        .accountNoGroups: "ninguno",
        .accountMoreGroups: "y {{count}} más",
        .accountLimited: "Aplicaciones por tiempo limitado",
        .accountKey: "Clave con la que te conocen las aplicaciones",
        .accountEnds: "La sesión termina",
        .accountEndsIdle: "o tras {{idle}} sin solicitudes",
        .accountSince: "Sesión iniciada desde",
        .sessionsTitle: "Dónde has iniciado sesión",
        .sessionsHere: "Este navegador",
        .sessionsUnknown: "Dispositivo desconocido",
        .sessionsUsed: "último uso {{used}}, inicio {{began}}",
        .sessionsEnd: "Terminar esta sesión",
        .sessionsNotKept:
            "Esta pasarela no guarda una lista de sesiones. Para terminar una, ciérrala en ese navegador.",
        .sessionsEnded: "La sesión ha terminado.",
        .sessionsMore:
            """
        Solo se muestran las {{shown}} sesiones usadas más recientemente; «Cerrar sesión en todas partes» las \
        termina todas.
        """,
        .dataTitle: "Qué se guarda",
        .dataText:
            """
        Mientras tu sesión está abierta, la pasarela guarda cifrados los datos anteriores, el tipo de navegador y \
        las horas de inicio y último uso. Tu último inicio de sesión se recuerda como máximo 400 días. Las \
        aplicaciones guardan sus propios datos.
        """,
        .consentTitle: "¿Continuar a {{client}}?",
        .consentAsks:
            """
        <strong>{{client}}</strong> pide iniciar tu sesión. Recibirá tu nombre y tu correo \
        electrónico{{^hasApps}}.{{/hasApps}}{{#hasApps}} y, hasta que cierres la sesión, podrá actuar en tu nombre \
        en:{{/hasApps}}
        """,
        .consentWarning: "Continúa solo si acabas de iniciar esto. Irás a <code>{{target}}</code>.",
        .deviceTitle: "Conectar un dispositivo",
        .deviceLabel: "Escribe el código que muestra el dispositivo.",
        .deviceWarning:
            """
        No escribas nunca un código recibido en un mensaje o una llamada: quien lo envía iniciaría sesión como tú.
        """,
        .deviceNotACode: "Eso no es un código de ocho letras, como WDJB-MJHT.",
        .deviceTooMany: "Se han probado demasiados códigos. Espera un minuto y escribe el código de nuevo.",
        .deviceUnknown: "Ningún dispositivo espera con este código. Un código vale diez minutos y una sola vez.",
        .deviceExpired: "El código ha caducado o ya se ha usado.",
        .deviceConsentTitle: "¿Iniciar sesión en {{client}} en un dispositivo?",
        .deviceCompare: "Compara: el dispositivo que quieres conectar muestra",
        .deviceConsentWarning:
            """
        Si no has empezado esto en un dispositivo que tienes delante, cancela. Quien envía el código o el enlace \
        iniciaría sesión como tú.
        """,
        .deviceAllow: "Los códigos coinciden: iniciar sesión",
        .deviceDoneTitle: "El dispositivo está conectado",
        .deviceDeniedTitle: "El dispositivo se ha rechazado",
        .deviceDone:
            """
        <strong>{{client}}</strong> iniciará tu sesión en el dispositivo en unos segundos. Puedes cerrar esta \
        página.
        """,
        .deviceDenied: "No se ha iniciado ninguna sesión. Si no lo empezaste tú, no tienes que hacer nada más.",
        .signInWithPassword: "Iniciar sesión con una contraseña",
        .accountFormName: "Correo electrónico o nombre de usuario",
        .accountFormPassword: "Contraseña",
        .accountFormForgotten: "Si has olvidado la contraseña, pide al administrador un enlace para elegir otra.",
        .accountFormWrong: "El nombre o la contraseña no son correctos.",
        .accountFormLate: "Ha tardado demasiado. Inicia sesión otra vez.",
        .accountFormWait: "Demasiados intentos. Espera {{seconds}} segundos y vuelve a intentarlo.",
        .codeTitle: "Escribe un código",
        .codeLabel: "Los seis dígitos de tu aplicación de autenticación o uno de tus códigos de recuperación",
        .codeWrong: "El código no es correcto o ya se ha usado.",
        .chooseTitle: "Elige una contraseña",
        .chooseNew: "Nueva contraseña, 12 caracteres como mínimo",
        .chooseRepeat: "La misma otra vez",
        .chooseButton: "Guardar la contraseña",
        .chooseNote: "Puedes usar varias palabras y espacios, y pegar desde un gestor de contraseñas.",
        .chooseDiffer: "Las dos contraseñas son distintas. Escribe la misma dos veces.",
        .chosenTitle: "Tu contraseña está guardada",
        .chosenText: "El enlace ya se ha usado. A partir de ahora inicias sesión con esta contraseña.",
        .passwordShort: "Usa al menos {{count}} caracteres. Puedes usar varias palabras.",
        .passwordLong: "Usa {{count}} bytes como máximo.",
        .passwordRepetitive: "Usa al menos {{count}} caracteres distintos.",
        .passwordPersonal: "La contraseña contiene tu nombre, tu correo o el nombre de este sitio. Elige otra.",
        .passwordCommon: "Mucha gente usa esta contraseña, así que es de las primeras que se prueban. Elige otra.",
        .passwordBreached: "Esta contraseña se conoce públicamente por una filtración de datos. Elige otra.",
        .credentialsTitle: "Contraseña y códigos",
        .credentialsChange: "Cambiar la contraseña",
        .credentialsCurrent: "Contraseña actual",
        .credentialsEnds: "Esto cierra tu sesión en todas partes.",
        .credentialsWrong: "La contraseña actual no es correcta.",
        .credentialsConflict: "La cuenta ha cambiado entretanto. Inténtalo otra vez.",
        .credentialsDone: "Hecho",
        .credentialsChanged:
            "La contraseña se ha cambiado y tu sesión se ha cerrado en todas partes. Inicia sesión con la nueva.",
        .passkeySignIn: "Iniciar sesión con una clave de acceso",
        .passkeyTitle: "Confirma con tu clave de acceso",
        .passkeyIntro: "Esta página necesita tu clave de acceso: tu dispositivo pide tu huella, tu rostro o su PIN.",
        .passkeyUse: "Usar la clave de acceso",
        .passkeyNone: """
        Esta página necesita una clave de acceso y aún no tienes ninguna. Añade una en este dispositivo y \
        continúa.
        """,
        .passkeyAdd: "Añadir una clave de acceso",
        .passkeyNoScript: "Las claves de acceso necesitan JavaScript, que está desactivado en este navegador.",
        .passkeyUnsupported: "Este navegador no admite claves de acceso. Usa otro navegador o dispositivo.",
        .passkeyCancelled: "No se usó ninguna clave de acceso. Inténtalo de nuevo.",
        .passkeyRegistered: "Este dispositivo ya tiene una clave de acceso para ti.",
        .passkeyFailed: "No se aceptó la clave de acceso. Usa otra o inténtalo de nuevo.",
        .passkeyCopied: "Parece que esta clave de acceso se ha copiado. Elimínala y usa otra.",
        .passkeyLimit: "No se puede añadir esta clave de acceso: ya la tienes o has llegado al número permitido.",
        .passkeysTitle: "Tus claves de acceso",
        .passkeysIntro: """
        Con una clave de acceso tu dispositivo confirma que eres tú, con huella, rostro o PIN. Nada de eso sale \
        del dispositivo.
        """,
        .passkeysEmpty: "Aún no tienes ninguna clave de acceso.",
        .passkeysAdded: "añadida el {{added}}",
        .passkeysUsed: "último uso el {{used}}",
        .passkeysSynced: "sincronizada",
        .passkeysRemove: "Eliminar",
        .passkeysName: "Nombre de la clave de acceso",
        .passkeysConfirm: "Para añadir o eliminar una clave de acceso, confirma primero que eres tú.",
        .passkeysConfirmButton: "Confirmar",
        .passkeysLost: "Si perdiste tu única clave de acceso, un administrador puede eliminarla.",
        .passkeysChanged: "Tus claves de acceso han cambiado.",
        .factorTitle: "Códigos al iniciar sesión",
        .factorLeft: "Hay una aplicación de autenticación configurada. Te quedan {{left}} códigos de recuperación.",
        .factorRemove: "Quitar la aplicación de autenticación",
        .factorRemoved: "La aplicación de autenticación se ha quitado. A partir de ahora basta la contraseña.",
        .factorAddTitle: "Añadir códigos al iniciar sesión",
        .factorAddIntro:
            "Abre el enlace en el dispositivo con tu aplicación de autenticación o escribe allí el secreto.",
        .factorOpen: "Abrir en una aplicación de autenticación",
        .factorDigits: "Los seis dígitos que muestra la aplicación",
        .factorAdd: "Añadir la aplicación de autenticación",
        .factorLate: "Ha tardado demasiado. Usa el secreto nuevo.",
        .factorWrong: "El código no es correcto. Comprueba la hora del dispositivo.",
        .recoveryTitle: "Guarda estos códigos",
        .recoveryText:
            """
        La aplicación de autenticación está configurada. Si la pierdes, cada uno de estos códigos inicia tu \
        sesión una vez. Solo se muestran ahora.
        """,
        .recoveryKept: "Los he apuntado",
        .connectedTitle: "Cuentas vinculadas",
        .connectedFirst: "Las aplicaciones te conocen por tu primera cuenta, inicies sesión con la que inicies.",
        .connectedUsed: "Estas cuentas son tuyas. Las aplicaciones te conocen por la cuenta con la que inicias sesión.",
        .connectedHere: "esta sesión",
        .connectedMain: "primera cuenta",
        .connectedAdded: "vinculada el {{added}}",
        .connectedRemove: "Desvincular",
        .connectedAdd: "Vincular otra cuenta",
        .connectedConfirm: "Para vincular o desvincular una cuenta, confirma primero que eres tú.",
        .connectedChanged: "Tus cuentas vinculadas han cambiado.",
        .connectTitle: "¿Vincular esta cuenta?",
        .connectText: "Acabas de iniciar sesión como <strong>{{name}}</strong> con {{provider}}.",
        .connectFirst:
            """
        A partir de entonces, cuando inicies sesión con esta cuenta, las aplicaciones te conocerán por tu \
        primera cuenta y ya no por esta.
        """,
        .connectWarning: "Vincúlala solo si es tuya: con ella se inicia sesión en tu nombre.",
        .connectAllow: "Vincular",
        .connectFailed:
            "No se vinculó la cuenta: está vinculada en otro lugar, es la de esta sesión o ya hay demasiadas.",
        .passkeyLate: "La página estuvo abierta demasiado tiempo. Inténtalo de nuevo.",
        .credentialsPasskeys:
            """
        La contraseña ha cambiado y se cerró la sesión en todas partes. Tus claves de acceso y cuentas \
        vinculadas siguen iniciando sesión: mira tu cuenta y elimina lo que no conozcas.
        """,
        .recoverLink: "¿Olvidaste tu contraseña?",
        .recoverTitle: "Elegir otra contraseña",
        .recoverIntro: "Escribe el correo electrónico de tu cuenta. Recibirás un enlace para elegir otra contraseña.",
        .joinLink: "Crear una cuenta",
        .joinTitle: "Crear una cuenta",
        .joinIntro: "Escribe tu correo electrónico. Recibirás un enlace para elegir una contraseña.",
        .joinDomains: "Solo para direcciones de: {{domains}}",
        .joinName: "Nombre (opcional)",
        .mailAddress: "Correo electrónico",
        .mailSend: "Enviar el enlace",
        .mailBad: "Este correo electrónico no se puede usar aquí.",
        .mailWait: "Demasiadas solicitudes. Espera {{minutes}} minutos e inténtalo de nuevo.",
        .mailSentTitle: "Revisa tu buzón",
        .mailSent:
            """
        Si la dirección se puede usar aquí, un mensaje con un enlace está en camino. Es válido durante una hora. \
        Si no llega nada, mira en la carpeta de spam.
        """,
    ]
}
