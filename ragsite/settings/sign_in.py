"""How people sign in on the web: passwords, second factor, other identity providers, sessions."""

import json
from typing import Any

from ragsite.env import env

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": env.PASSWORD_MIN_LENGTH},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
ADMIN_PASSWORD = env.ADMIN_PASSWORD  # of the first administrator; None: bootstrap generates and prints one

LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/sign-in"

SESSION_ENGINE = "accounts.sessions"
SESSION_COOKIE_AGE = 14 * 24 * 3600  # seconds

REQUIRE_TOTP = env.REQUIRE_TOTP
OTP_TOTP_ISSUER = "Ragsite"
OTP_TOTP_SYNC = False  # a drift that is learned would widen what is accepted

OIDC_ISSUER = (env.OIDC_ISSUER or "").rstrip("/")
OIDC_CLIENT_ID = env.OIDC_CLIENT_ID or ""
OIDC_CLIENT_SECRET = env.OIDC_CLIENT_SECRET or ""
OIDC_NAME = env.OIDC_NAME
OIDC_SCOPES = env.OIDC_SCOPES
OIDC_CLAIMS: dict[str, str] = json.loads(env.OIDC_CLAIMS) if env.OIDC_CLAIMS else {}
OIDC_CREATE_USERS = env.OIDC_CREATE_USERS
OIDC_LINK_USERS = env.OIDC_LINK_USERS

LDAP_URL = env.LDAP_URL
LDAP_GROUP_BASE = env.LDAP_GROUP_BASE
LDAP_ATTRIBUTES: dict[str, str] = json.loads(env.LDAP_ATTRIBUTES) if env.LDAP_ATTRIBUTES else {}
if LDAP_URL:
    from accounts.sign_in.ldap_settings import ldap_settings

    AUTHENTICATION_BACKENDS.append("accounts.sign_in.ldap.LdapBackend")
    globals().update(
        ldap_settings(
            url=LDAP_URL,
            bind_dn=env.LDAP_BIND_DN or "",
            bind_password=env.LDAP_BIND_PASSWORD or "",
            user_base=env.LDAP_USER_BASE or "",
            user_filter=env.LDAP_USER_FILTER,
            group_base=env.LDAP_GROUP_BASE or "",
            group_filter=env.LDAP_GROUP_FILTER,
        )
    )
