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
    ]
}
