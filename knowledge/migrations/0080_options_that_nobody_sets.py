"""Options that nobody sets are fields of their stages, and versions for comparing are no settings of sites and sets."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORMER = {
    "representations": ("sections", "captions"),
    "facts": ("extract", "model_passages"),
    "retrieval": (
        *("coarse_limit", "fine_limit", "exact", "names"),
        *("query_adapter", "set_embedder", "embedder_switch"),
    ),
    "answer": ("history_tokens", "loop_tokens", "support_threshold"),
}
MODEL_PASSAGES = 40  # of a document, where nothing was stored

Options = dict[str, dict[str, Any]]


def settings_rewrite(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Of sites and of sets; what a set inherited of its site is what it inherits still."""
    sites: dict[int, Options] = {}
    for row in apps.get_model("knowledge", "SiteOptions").objects.exclude(options={}):
        sites[row.tenant_id] = row.options
        _store(row, rewritten(row.options, {}))
    for row in apps.get_model("knowledge", "KnowledgeSet").objects.exclude(options={}):
        _store(row, rewritten(row.options, sites.get(row.tenant_id, {})))


def rewritten(options: Options, above: Options) -> Options:
    """The options of a layer as they are stored from now on; `above`: those that it inherited until now."""
    left = {
        group: {name: value for name, value in values.items() if name not in FORMER.get(group, ())}
        for group, values in options.items()
    }
    facts = options.get("facts", {})
    if facts.keys() & {"extract", "model_passages"}:
        in_force = {**above.get("facts", {}), **facts}
        is_read = bool(in_force.get("extract"))
        if is_read or "extract" in facts:
            by_model = "model" if in_force.get("model_passages", MODEL_PASSAGES) else "rules"
            left["facts"]["reading"] = by_model if is_read else "off"
    return left


def _store(row: Any, options: Options) -> None:
    if options != row.options:
        row.options = options
        row.save(update_fields=["options"])


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0079_exams_of_language_models")]

    operations = [migrations.RunPython(settings_rewrite, migrations.RunPython.noop)]
