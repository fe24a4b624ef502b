"""Source handlers: how documents of one kind of source are treated."""

from knowledge.services.handlers.changes import (
    arrival_apply,
    arrival_refusal,
    attributes_seed,
    handlers_apply,
    handlers_seed,
    security_settle,
)
from knowledge.services.handlers.indentation import document_nest, text_nest, version_nest
from knowledge.services.handlers.rules import (
    Handler,
    HandlerOutcome,
    Rule,
    handler_evaluate,
    handler_value,
    pattern_check,
    series_settle,
    template_check,
    version_key,
)
from knowledge.services.handlers.security import security_hold, security_release

__all__ = [
    "HandlerOutcome",
    "Handler",
    "Rule",
    "arrival_refusal",
    "attributes_seed",
    "document_nest",
    "handler_evaluate",
    "handler_value",
    "handlers_apply",
    "handlers_seed",
    "pattern_check",
    "arrival_apply",
    "security_hold",
    "security_release",
    "security_settle",
    "series_settle",
    "template_check",
    "text_nest",
    "version_key",
    "version_nest",
]
