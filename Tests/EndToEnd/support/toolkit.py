# SPDX-License-Identifier: Apache-2.0
"""An OpenID provider made of django-oauth-toolkit as its manual describes: a separate program with a settings file.

Sign-in page, consent, tokens and sign-out are Django's and the toolkit's; here is only what a site has to set up.
"""

import json
import sys
from pathlib import Path

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.management import call_command

LOGIN = """<!doctype html><title>Log in</title><form method="post">{% csrf_token %}
<input name="username"><input name="password" type="password"></form>"""


def private_key():
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def claims():
    from oauth2_provider.oauth2_validators import OAuth2Validator

    class Claims(OAuth2Validator):
        """The code of the manual's section "Adding claims to the ID token"."""

        oidc_claim_scope = None

        def get_additional_claims(self, request):
            user = request.user
            return {"email": user.email, "email_verified": True, "preferred_username": user.username}

    return Claims


def configure(folder):
    (folder / "registration").mkdir(exist_ok=True)
    (folder / "registration" / "login.html").write_text(LOGIN)
    settings.configure(
        SECRET_KEY="toolkit",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="toolkit",
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [str(folder)], "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
            },
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "toolkit.db")}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        LOGIN_URL="/login/",
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": private_key(), "PKCE_REQUIRED": True,
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True, "OAUTH2_VALIDATOR_CLASS": "toolkit.Claims",
            "SCOPES": {"openid": "who you are", "email": "your address", "profile": "your name"},
        },
    )


def site():
    from django.contrib.auth.views import LoginView
    from django.urls import include, path

    return [path("login/", LoginView.as_view()), path("o/", include("oauth2_provider.urls"))]


def fill(given):
    from django.contrib.auth.models import User
    from oauth2_provider.models import Application

    for name, email in given["users"].items():
        User.objects.create_user(name, email, name)
    for name, client in given["clients"].items():
        Application.objects.create(
            client_id=name, client_type="confidential", authorization_grant_type="authorization-code",
            algorithm="RS256", name=name, **client,
        )


def main(path):
    given = json.loads(Path(path).read_text())
    folder = Path(path).parent / "toolkit"
    folder.mkdir(exist_ok=True)
    configure(folder)
    django.setup()
    globals().update(Claims=claims(), urlpatterns=site())
    call_command("migrate", verbosity=0)
    fill(given)
    call_command("runserver", f"127.0.0.1:{given['port']}", use_reloader=False, skip_checks=True)


if __name__ == "__main__":
    sys.modules["toolkit"] = sys.modules["__main__"]
    main(sys.argv[1])
