"""Structured logs: readable on a terminal, JSON where machines read them."""

import logging
from typing import Any

import structlog

from ragsite.env import env

_shared: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
_renderer = (
    structlog.processors.JSONRenderer()
    if env.LOG_FORMAT == "json"
    # Its own formatter would print the local variables of every frame: keys, passwords, texts of documents.
    else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
)


class RefusedHostFilter(logging.Filter):
    """A request with a wrong Host header is the sender's fault: one line at warning, no traceback, no mail."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = record.exc_text = None
        return True


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _shared,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _renderer,
            ]
            if env.LOG_FORMAT == "json"
            else [structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer],
        }
    },
    "filters": {"refused_host": {"()": RefusedHostFilter}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["console"], "level": env.LOG_LEVEL},
    "loggers": {
        "django.security.DisallowedHost": {"filters": ["refused_host"]},
        "axes": {"level": "WARNING"},
        "azure": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
        "paramiko": {"level": "WARNING"},
        "pdfminer": {"level": "ERROR"},
        "smbprotocol": {"level": "WARNING"},
    },
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_shared,
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
