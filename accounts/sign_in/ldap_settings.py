"""Settings of django-auth-ldap from our variables; imported only where LDAP_URL is set (extra `ldap`)."""

from __future__ import annotations

from typing import Any

CONNECT_SECONDS = 5


def ldap_settings(
    *, url: str, bind_dn: str, bind_password: str, user_base: str, user_filter: str, group_base: str, group_filter: str
) -> dict[str, Any]:
    """`AUTH_LDAP_…`. Plain `ldap://` is upgraded by StartTLS, and certificates are checked."""
    import ldap
    from django_auth_ldap.config import LDAPSearch, NestedGroupOfNamesType

    settings: dict[str, Any] = {
        "AUTH_LDAP_SERVER_URI": url,
        "AUTH_LDAP_BIND_DN": bind_dn,
        "AUTH_LDAP_BIND_PASSWORD": bind_password,
        "AUTH_LDAP_USER_SEARCH": LDAPSearch(user_base, ldap.SCOPE_SUBTREE, user_filter),
        "AUTH_LDAP_START_TLS": url.startswith("ldap://"),
        "AUTH_LDAP_ALWAYS_UPDATE_USER": False,  # accounts.people does
        "AUTH_LDAP_CONNECTION_OPTIONS": {
            ldap.OPT_NETWORK_TIMEOUT: CONNECT_SECONDS,
            ldap.OPT_TIMEOUT: CONNECT_SECONDS,
            ldap.OPT_X_TLS_REQUIRE_CERT: ldap.OPT_X_TLS_DEMAND,
            ldap.OPT_REFERRALS: 0,
        },
    }
    if group_base:
        settings["AUTH_LDAP_GROUP_SEARCH"] = LDAPSearch(group_base, ldap.SCOPE_SUBTREE, group_filter)
        settings["AUTH_LDAP_GROUP_TYPE"] = NestedGroupOfNamesType()
    return settings
