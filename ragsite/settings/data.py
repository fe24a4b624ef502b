"""Postgres, Redis, Celery, files."""

from kombu import Exchange, Queue

from ragsite.env import QUESTION_THREADS, env
from ragsite.settings.urls import database_from_url

_database_url = env.database_url() or "postgresql://unconfigured@127.0.0.1:1/unconfigured"
_database = database_from_url(_database_url)
_redis_url = env.redis_url() or "redis://127.0.0.1:1/0"

# for servers that are gone without a word: by default libpq waits two minutes to connect, and hours for an answer
LOST_CONNECTIONS = {
    "connect_timeout": "5",  # seconds
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",  # milliseconds
}
DATABASES = {
    "default": {
        "ENGINE": "psqlextra.backend",
        "ATOMIC_REQUESTS": False,
        "CONN_MAX_AGE": 0,  # the pool keeps connections, Django gives them back after each request
        **_database,
        "OPTIONS": {
            **LOST_CONNECTIONS,
            **_database["OPTIONS"],
            "pool": {"min_size": 1, "max_size": env.pool_size(), "timeout": 10},
        },
    }
}
DATABASE_THREADS = min(QUESTION_THREADS, env.pool_size())
POSTGRES_EXTRA_DB_BACKEND_BASE = "ragsite.database"
POSTGRES_EXTRA_AUTO_EXTENSION_SET_UP = False  # it would ask for hstore; migrations create what is needed

SEARCH_BACKEND = env.SEARCH_BACKEND
MILVUS_URI = env.MILVUS_URI or ""
MILVUS_TOKEN = env.MILVUS_TOKEN or ""
MILVUS_COLLECTION = env.MILVUS_COLLECTION

REDIS_URL = _redis_url
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": _redis_url, "KEY_PREFIX": "c"}
}

CELERY_BROKER_URL = _redis_url
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_POOL = "ragsite.worker_pool:TaskPool"  # of workers that name no other one
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "ingest"
CELERY_TASK_QUEUES = [
    Queue(name, Exchange(name), routing_key=name) for name in ("ingest", "ocr", "diagnosis", "embed", "chat", "nightly")
]
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TIMEZONE = env.TIME_ZONE
HNSW_M = env.HNSW_M
HNSW_EF_CONSTRUCTION = env.HNSW_EF_CONSTRUCTION
INDEX_MEMORY_MB = env.INDEX_MEMORY_MB
MAINTENANCE_HOUR = env.MAINTENANCE_HOUR
REQUIRE_SANDBOX = env.REQUIRE_SANDBOX
PURGE_AFTER_DAYS = env.PURGE_AFTER_DAYS

DATA_DIR = env.DATA_DIR
IS_EMBEDDED = env.is_embedded  # the database lies in DATA_DIR
DISK_WARNING_BYTES = env.DISK_WARNING_MB * 1024 * 1024
DISK_RESERVE_BYTES = env.DISK_RESERVE_MB * 1024 * 1024
MEDIA_ROOT = env.DATA_DIR / "files"
MEDIA_URL = "/files/"  # never served directly: originals pass through a view that checks rights
STORAGES = {
    "default": {"BACKEND": "ragsite.file_storage.WholeFileStorage"},
    "staticfiles": {"BACKEND": "ragsite.static_storage.HashedStaticFilesStorage"},
}
SOURCE_FOLDERS = env.SOURCE_FOLDERS  # below which sources of the default tenant may read folders of this machine
GRANTABLE_FOLDERS = env.GRANTABLE_FOLDERS  # below these, too, administrators may give folders to tenants
FETCH_ALLOWED_HOSTS = env.FETCH_ALLOWED_HOSTS  # hosts and networks that may be fetched though they are private
