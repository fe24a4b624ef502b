"""Who may sign in, from where, and what browsers may do with our pages."""

from csp.constants import NONCE, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE

from ragsite.env import env

SECRET_KEY = env.secret_key()
DEBUG = env.DEBUG
ALLOWED_HOSTS = [*env.ALLOWED_HOSTS, ".localhost", "127.0.0.1", "[::1]"]  # the last for health checks on the machine
CSRF_TRUSTED_ORIGINS = [*env.CSRF_TRUSTED_ORIGINS]
CORS_ALLOWED_ORIGINS = [*env.CORS_ALLOWED_ORIGINS]
CORS_URLS_REGEX = r"^/(api|v1)/.*$"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if not env.is_embedded:  # production stands behind a proxy that sets this header and strips it from clients
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
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
# The admin theme evaluates expressions (Alpine) and sets inline styles; the relaxation is for its paths only.
CONTENT_SECURITY_POLICY_ADMIN = {
    **CONTENT_SECURITY_POLICY["DIRECTIVES"],
    "script-src": [SELF, UNSAFE_EVAL, UNSAFE_INLINE],
    "style-src": [SELF, UNSAFE_INLINE],
}
