"""Languages, static files, API frameworks, the admin's look, limits."""

from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from ragsite.env import env
from ragsite.settings.apps import BASE_DIR

LANGUAGE_CODE = env.LANGUAGE_CODE
EXPORT_FONT = env.EXPORT_FONT
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "ragsite.formats"  # one form of times and days, as accounts.relative_time
TIME_ZONE = env.TIME_ZONE
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = env.DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = env.DEBUG

MAX_UPLOAD_BYTES = env.MAX_UPLOAD_MB * 1024 * 1024
MAX_ATTACHMENT_BYTES = env.MAX_ATTACHMENT_MB * 1024 * 1024
MAX_ATTACHMENTS_BYTES = env.MAX_ATTACHMENTS_MB * 1024 * 1024
MAX_BULK_BYTES = env.MAX_BULK_MB * 1024 * 1024
WEB_PROCESSES = env.WEB_PROCESSES
MAX_IN_FLIGHT = env.MAX_IN_FLIGHT
MAX_IN_FLIGHT_PER_PERSON = env.MAX_IN_FLIGHT_PER_PERSON
MAX_IN_FLIGHT_PER_KEY = env.MAX_IN_FLIGHT_PER_KEY
MAX_IN_FLIGHT_PER_TENANT = env.MAX_IN_FLIGHT_PER_TENANT
SOCKETS_PER_PERSON = env.SOCKETS_PER_PERSON
QUESTIONS_PER_MINUTE = env.QUESTIONS_PER_MINUTE
QUESTIONS_PER_MINUTE_PER_KEY = env.QUESTIONS_PER_MINUTE_PER_KEY
QUESTIONS_PER_MINUTE_PER_TENANT = env.QUESTIONS_PER_MINUTE_PER_TENANT
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024  # forms without their files; ragsite/body_limits.py has the limits
DATA_UPLOAD_MAX_NUMBER_FILES = 1000
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
APPEND_SLASH = False

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.ApiKeyAuthentication",
        "accounts.authentication.BrowserAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "ragsite.errors.drf_exception_handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ragsite API",
    "DESCRIPTION": "Knowledge sets, documents, retrieval and cited answers.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "ClearanceEnum": "accounts.models.ClearanceLevel",
        "DocumentState": "knowledge.api.document_fields.STATES",
        "JobState": "knowledge.api.jobs.STATES",
        "SourceKind": "knowledge.models.sources.source_kinds",
        "PlaceKind": "knowledge.models.SourcePlace.Kind",
        "EntityKind": "knowledge.models.EntityKind",
        "RelationKind": "knowledge.relation_kinds.CODES",
        "EntityDecisionKind": "knowledge.models.EntityDecision.Kind",
        "FactQuestionType": "ragcore.text.fact_question.KINDS",
        "TripleFormat": "knowledge.models.TripleImport.Format",
        "TextFormat": "knowledge.api.webhooks.FORMATS",
    },
}

ADMIN_HOME = reverse_lazy("admin:index")
SITE_NAME = _("Knowledge assistant")

EMBEDDER = env.EMBEDDER
RERANKER = env.RERANKER
RERANKER_URL = env.RERANKER_URL
RERANKER_API_KEY = env.RERANKER_API_KEY
RERANKER_BACKEND = env.RERANKER_BACKEND
RERANKER_BATCH = env.RERANKER_BATCH
RERANKER_SECONDS = env.RERANKER_SECONDS
RERANKER_TRUST_REMOTE_CODE = env.RERANKER_TRUST_REMOTE_CODE
EMBEDDER_THREADS = env.EMBEDDER_THREADS
EMBEDDER_QUERY_PREFIX = env.EMBEDDER_QUERY_PREFIX
EMBEDDER_DOCUMENT_PREFIX = env.EMBEDDER_DOCUMENT_PREFIX
EMBEDDER_POOLING = env.EMBEDDER_POOLING
EMBEDDER_MAX_TOKENS = env.EMBEDDER_MAX_TOKENS
EMBEDDER_TRUST_REMOTE_CODE = env.EMBEDDER_TRUST_REMOTE_CODE
MODEL_SOCKET = env.model_socket()
MODEL_CONCURRENCY = env.MODEL_CONCURRENCY
TOKENIZER_FILE = env.TOKENIZER_FILE
LLM_BASE_URL = env.LLM_BASE_URL
LLM_API_KEY = env.LLM_API_KEY
LLM_MODEL = env.LLM_MODEL
LLM_FILE_STATE = env.language_model_state()
LLM_FAST_BASE_URL = env.LLM_FAST_BASE_URL
LLM_FAST_API_KEY = env.LLM_FAST_API_KEY
LLM_FAST_MODEL = env.LLM_FAST_MODEL
LLM_ADVANCED_BASE_URL = env.LLM_ADVANCED_BASE_URL
LLM_ADVANCED_API_KEY = env.LLM_ADVANCED_API_KEY
LLM_ADVANCED_MODEL = env.LLM_ADVANCED_MODEL
LLM_JUDGE_BASE_URL = env.LLM_JUDGE_BASE_URL
LLM_JUDGE_API_KEY = env.LLM_JUDGE_API_KEY
LLM_JUDGE_MODEL = env.LLM_JUDGE_MODEL
LLM_LOCAL_MODEL = env.LLM_LOCAL_MODEL
LLM_PRICES = env.LLM_PRICES
LLM_LIMITS = env.LLM_LIMITS
LLM_EXAM = env.LLM_EXAM
EMBEDDING_BASE_URL = env.EMBEDDING_BASE_URL
EMBEDDING_API_KEY = env.EMBEDDING_API_KEY
