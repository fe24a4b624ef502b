"""Who may sign in, from where, and what browsers may do with our pages."""

from csp.constants import NONE, SELF, UNSAFE_INLINE

from ragsite.env import env

SECRET_KEY = env.secret_key()
DEBUG = env.DEBUG
ALLOWED_HOSTS = [*env.ALLOWED_HOSTS, ".localhost", "127.0.0.1", "[::1]"]  # the last for health checks on the machine
CSRF_TRUSTED_ORIGINS = [*env.CSRF_TRUSTED_ORIGINS]
CORS_ALLOWED_ORIGINS = [*env.CORS_ALLOWED_ORIGINS]
API_DOCS_OPEN = env.API_DOCS_OPEN
CORS_URLS_REGEX = r"^/(api|v1)/.*$"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# The web server takes https and the client's address from the proxies that TRUSTED_PROXIES names, and from nobody else.
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = env.is_tls
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^metrics$"]  # asked by machines on the machine itself
SECURE_HSTS_SECONDS = env.HSTS_SECONDS if env.is_tls else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
SILENCED_SYSTEM_CHECKS = [
    # Django looks for its own middleware by name; ragsite.middleware has its subclasses
    "security.W001",
    "security.W002",
    "security.W003",
    "security.W021",  # browsers' preload list: for whoever owns the domain to decide
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "script-src-attr": [NONE],
        "object-src": [NONE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-src": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "manifest-src": [SELF],
    }
}
# The admin theme and the page of the API set inline styles; scripts have one policy everywhere.
CONTENT_SECURITY_POLICY_STYLED = {**CONTENT_SECURITY_POLICY["DIRECTIVES"], "style-src": [SELF, UNSAFE_INLINE]}
