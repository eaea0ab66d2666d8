// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Failure.Page {
    /// The heading and the text of each page in Spanish, by its name.
    static let spanish: [String: (title: String, text: String)] = [
        "bad_request": (
            "No se ha entendido la solicitud",
            "La dirección o el formulario que te trajo aquí no es correcto. Vuelve atrás e inténtalo de nuevo."
        ),
        "please_sign_in": (
            "Inicia sesión",
            "Esta página es para usuarios con la sesión iniciada."
        ),
        "not_allowed": (
            "Se ha detenido la solicitud",
            "La pasarela no lo permite."
        ),
        "app_not_found": (
            "Página no encontrada",
            "No hay ninguna aplicación configurada para esta URL. Comprueba la dirección."
        ),
        "wrong_method": (
            "Eso no funciona aquí",
            "Esta dirección no acepta este tipo de solicitud."
        ),
        "too_large": (
            "Es demasiado grande",
            "La solicitud tiene más bytes de los que acepta esta aplicación. Envía menos de una vez."
        ),
        "too_many": (
            "Demasiadas solicitudes",
            "Espera un minuto e inténtalo de nuevo."
        ),
        "provider_failed": (
            "El servicio de acceso no responde correctamente",
            "No es culpa tuya. Inténtalo en un minuto o elige otra forma de iniciar sesión."
        ),
        "provider_not_verified": (
            "Esta forma de acceso no está disponible ahora",
            """
            La pasarela no pudo verificar el servicio de acceso, así que no le envió nada. Se ha avisado a los \
            responsables. Elige otra forma de iniciar sesión o inténtalo más tarde.
            """
        ),
        "app_failed": (
            "La aplicación no responde",
            "No es culpa tuya: la aplicación no funciona. Inténtalo de nuevo en un minuto."
        ),
        "app_timed_out": (
            "La aplicación tarda demasiado",
            "La aplicación no respondió a tiempo. Inténtalo de nuevo en un minuto."
        ),
        "maintenance": (
            "Esta aplicación está en mantenimiento",
            "Volverá pronto; inténtalo de nuevo en unos minutos."
        ),
        "overloaded": (
            "No disponible en este momento",
            "Inténtalo de nuevo en unos segundos."
        ),
        "internal_error": (
            "Algo ha ido mal",
            "La pasarela ha fallado; los detalles están en su registro."
        ),
        "sign_in_not_completed": (
            "No se puede completar este inicio de sesión",
            """
            Ha tardado demasiado, ya se usó o empezó en otra ventana u otro navegador. No hay nada roto: inicia \
            sesión de nuevo.
            """
        ),
        "account_too_large": (
            "Tu cuenta tiene demasiados datos",
            """
            El inicio de sesión ha funcionado, pero los datos de tu cuenta, normalmente sus grupos y roles, no \
            caben en las cookies de tu navegador. El responsable de esta pasarela tiene que cambiar su \
            configuración.
            """
        ),
        "sessions_not_kept": (
            "No es posible aquí",
            """
            Esta pasarela no guarda una lista de sesiones, así que no puede terminar las de otros navegadores. \
            Cierra la sesión en cada navegador.
            """
        ),
        "sign_in_expired": (
            "Este inicio de sesión ha tardado demasiado",
            "Un inicio de sesión debe completarse en diez minutos. No hay nada roto: inicia sesión de nuevo."
        ),
        "app_not_known": (
            "Esta aplicación no puede iniciar tu sesión",
            """
            La aplicación que te envió aquí no está configurada para este inicio de sesión. Su desarrollador \
            tiene que corregirlo.
            """
        ),
        "transfer_not_completed": (
            "No se puede completar este inicio de sesión",
            "Ha tardado demasiado, ya se usó o empezó en otro navegador. No hay nada roto: inténtalo de nuevo."
        ),
        "return_path_too_long": (
            "El enlace era demasiado largo",
            """
            Has iniciado sesión, pero la dirección de la que venías era demasiado larga para conservarla. Abre \
            el enlace de nuevo o empieza en la página principal de la aplicación.
            """
        ),
        "return_path_lost": (
            "El enlace ya no se conoce",
            "La dirección de la que venías no se conservó el tiempo suficiente. Abre el enlace de nuevo."
        ),
        "form_not_sent": (
            "Tu formulario no se envió",
            """
            Tu sesión terminó entretanto, o tienes que confirmar tu identidad, así que {{app}} no recibió lo que escribiste. \
            Vuelve atrás para copiarlo si tu navegador aún lo muestra; después inicia sesión y envíalo de nuevo.
            """
        ),
        "confirmation_needed": (
            "Hay que confirmar tu sesión",
            """
            Abre la aplicación en otra pestaña; así se confirma que sigues conectado. Después recarga esta página: lo \
            que escribiste se envía de nuevo.
            """
        ),
        "not_signed_in": (
            "No has iniciado sesión",
            "Se canceló el inicio de sesión o esta cuenta no se puede usar aquí."
        ),
        "provider_interaction": (
            "El servicio de acceso tiene que preguntarte algo",
            "Ábrelo e inicia sesión allí, o acepta lo que pide, y empieza de nuevo."
        ),
        "access_denied": (
            "No puedes abrir {{app}}",
            """
            Esta cuenta no tiene acceso. Si tienes otra cuenta, inicia sesión con ella. Si no, pide acceso a los \
            responsables.
            """
        ),
        "access_undecided": (
            "No puedes abrir {{app}}",
            "El servicio de acceso no dio suficientes datos de tu cuenta para decidir. Iniciar sesión de nuevo puede ayudar."
        ),
        "provider_not_found": (
            "Forma de acceso desconocida",
            "La pasarela no tiene ningún servicio de acceso con este nombre."
        ),
        "endpoint_not_found": (
            "Página no encontrada",
            "La pasarela no tiene ninguna página en esta dirección."
        ),
        "misdirected": (
            "Conexión equivocada",
            "Tu navegador usó una conexión que es para otro sitio. Recarga la página."
        ),
        "certificate_needed": (
            "Hace falta un certificado",
            """
            Para abrir {{app}}, tu navegador tiene que presentar un certificado tuyo o de tu dispositivo, y no presentó \
            ninguno que se acepte. Se aceptan certificados de: {{issuers}}. Si acabas de instalar uno, cierra el \
            navegador y ábrelo de nuevo.
            """
        ),
        "certificate_rejected": (
            "Tu certificado no se acepta",
            """
            El certificado que presentó tu navegador no se puede usar aquí: quizá ha caducado o fue revocado. Pide otro \
            a los operadores. Se aceptan certificados de: {{issuers}}.
            """
        ),
        "not_navigation": (
            "No puedes iniciar sesión aquí",
            "Un inicio de sesión empieza en su propia ventana, no dentro de otra página."
        ),
        "cross_site": (
            "Se ha detenido la solicitud",
            "Otro sitio envió tu navegador aquí para cambiar algo. Si querías hacerlo, hazlo en la propia aplicación."
        ),
        "unreadable": (
            "No se ha entendido la solicitud",
            "Tu navegador envió algo que la pasarela no acepta. Comprueba la dirección, o vuelve atrás e inténtalo de nuevo."
        ),
        "head_too_large": (
            "Tu navegador envió demasiado",
            "Probablemente tiene demasiadas cookies de este sitio. Borra las cookies de este sitio e inténtalo de nuevo."
        ),
        "target_too_long": (
            "La dirección es demasiado larga",
            "Tiene más caracteres de los que acepta la pasarela. Acorta el enlace."
        ),
        "too_slow": (
            "La solicitud tardó demasiado",
            "La conexión era demasiado lenta. Inténtalo de nuevo."
        ),
        "method_not_accepted": (
            "Eso no funciona aquí",
            "La pasarela no acepta este tipo de solicitud."
        ),
        "account_not_connected": (
            "No se vinculó la cuenta",
            "Es la cuenta de esta sesión, está vinculada con otras o cerraste la sesión mientras tanto."
        ),
        "passkey_not_accepted": (
            "No se aceptó la clave de acceso",
            """
            Pertenece a otra cuenta, se eliminó o la solicitud es demasiado antigua. Usa otra clave de acceso o \
            inténtalo de nuevo.
            """
        ),
        "link_over": (
            "Este enlace ya no es válido",
            "Ya se usó o ha caducado. Pide otro al administrador."
        ),
        "provider_misconfigured": (
            "Esta forma de iniciar sesión no está bien configurada",
            """
            No es culpa tuya y volver a intentarlo no sirve: los responsables tienen que corregirlo. Elige otra forma \
            de iniciar sesión o avísales.
            """
        ),
        "app_not_verified": (
            "No se pudo verificar la aplicación",
            """
            La pasarela no pudo verificar el servidor de la aplicación y no le envió nada. Los responsables tienen \
            que corregirlo.
            """
        ),
        "app_not_understood": (
            "La respuesta de la aplicación no se puede mostrar",
            "No es culpa tuya. Si vuelve a ocurrir, avisa a los responsables de la aplicación."
        ),
        "app_leads_back": (
            "La aplicación lleva de vuelta a sí misma",
            """
            La petición volvió a la pasarela y se detuvo. Los responsables tienen que corregir la configuración de la \
            aplicación.
            """
        ),
        "operators_needed": (
            "No disponible en este momento",
            """
            Los responsables de esta pasarela tienen que actuar primero. Tus datos no se han perdido; vuelve más \
            tarde.
            """
        ),
        "callback_not_understood": (
            "No se entendió la respuesta del servicio de inicio de sesión",
            """
            Está incompleta o se modificó por el camino. Inicia sesión otra vez; si no sirve, avisa a los \
            responsables.
            """
        ),
        "sign_in_stopped": (
            "Se ha detenido este inicio de sesión",
            """
            La respuesta no vino del servicio con el que empezaste, así que puede ser un ataque. No se envió nada \
            tuyo allí. Abre la aplicación de nuevo e inicia sesión; si vuelve a ocurrir, avisa a los responsables.
            """
        ),
        "authentication_stale": (
            "Hace falta iniciar sesión de nuevo",
            """
            La aplicación pide un inicio de sesión de ahora mismo y el servicio no te lo pidió. Cierra primero la \
            sesión allí y vuelve a iniciarla.
            """
        ),
        "signed_out_meanwhile": (
            "Se cerró tu sesión",
            "Se cerró tu sesión, aquí o en el servicio, mientras iniciabas sesión. Inicia sesión otra vez."
        ),
        "other_organization": (
            "Esta cuenta es de otra organización",
            "Aquí solo pueden iniciar sesión cuentas de ciertas organizaciones. Usa una de ellas."
        ),
        "credentials_wrong": (
            "No has iniciado sesión",
            "El nombre, la contraseña o el código no eran correctos."
        ),
        "passkey_copied": (
            "No se aceptó la clave de acceso",
            "Parece que se ha copiado. Elimínala, usa otra y avisa a los responsables."
        ),
        "passkey_not_added": (
            "No se añadió la clave de acceso",
            """
            Ya la tienes, tienes tantas como se permiten o has añadido otra mientras tanto. Abre la página de nuevo.
            """
        ),
        "address_not_accepted": (
            "Esta dirección no se acepta",
            """
            Tiene caracteres que los servidores leen de distintas maneras, como una barra codificada. Revisa el \
            enlace o pide otro a quien te lo dio.
            """
        ),
    ]
}
