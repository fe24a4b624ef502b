"""Applications, middleware, templates."""

from pathlib import Path

BASE_DIR = Path(__file__).resolve().parents[2]

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "psqlextra",
    "channels",
    "corsheaders",
    "csp",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_prometheus",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "accounts",
    "work",
    "notifications",
    "knowledge",
    "chat",
    "feedback",
    "evaluation",
    "ragsite",
]

MIDDLEWARE = [
    "ragsite.middleware.PrometheusBeforeMiddleware",
    "ragsite.middleware.SecurityMiddleware",
    "ragsite.middleware.StaticFilesMiddleware",
    "ragsite.middleware.CompressedPagesMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "ragsite.middleware.BadValuesMiddleware",
    "ragsite.middleware.SessionMiddleware",
    "ragsite.middleware.LocaleMiddleware",
    "ragsite.middleware.CommonMiddleware",
    "ragsite.middleware.CsrfViewMiddleware",
    "ragsite.middleware.AuthenticationMiddleware",
    "ragsite.middleware.MessageMiddleware",
    "ragsite.middleware.XFrameOptionsMiddleware",
    "ragsite.middleware.ContentSecurityPolicyMiddleware",
    "ragsite.middleware.EndedAccessMiddleware",
    "ragsite.middleware.PrometheusAfterMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

ROOT_URLCONF = "ragsite.urls"
ASGI_APPLICATION = "ragsite.asgi.application"
WSGI_APPLICATION = None
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
