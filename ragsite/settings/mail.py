"""The mail server; without one people are told in their inbox only."""

from ragsite.env import env

EMAIL_HOST = env.EMAIL_HOST or ""
EMAIL_PORT = env.EMAIL_PORT
EMAIL_HOST_USER = env.EMAIL_HOST_USER or ""
EMAIL_HOST_PASSWORD = env.EMAIL_HOST_PASSWORD or ""
EMAIL_USE_TLS = env.EMAIL_SECURITY == "starttls"
EMAIL_USE_SSL = env.EMAIL_SECURITY == "tls"
EMAIL_TIMEOUT = 20  # seconds
DEFAULT_FROM_EMAIL = env.EMAIL_FROM
SITE_URL = (env.SITE_URL or "").rstrip("/")  # of links in mails
