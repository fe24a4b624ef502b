"""Source handlers: how documents of one kind of source are treated (D10)."""

from knowledge.services.handlers.evaluating import handled
from knowledge.services.handlers.patterns import pattern_check
from knowledge.services.handlers.seeding import attributes_seed, handlers_seed
from knowledge.services.handlers.series import series_settle, version_key
from knowledge.services.handlers.templates import template_check
from knowledge.services.handlers.values import Handled, Handler, Rule, handler_value
from knowledge.services.handlers.writing import arrival_refusal, handlers_apply

__all__ = [
    "Handled",
    "Handler",
    "Rule",
    "arrival_refusal",
    "attributes_seed",
    "handled",
    "handler_value",
    "handlers_apply",
    "handlers_seed",
    "pattern_check",
    "series_settle",
    "template_check",
    "version_key",
]
