"""Options that only a developer would change are fields of their stages now: settings no longer hold them."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORMER = {
    "retrieval": (
        *("alpha_centre", "alpha_slope", "vector_weight_zh", "vector_weight_en", "title_weight", "title_boost"),
        *("profile_shift", "profile_boost", "duplicate_similarity"),
    ),
    "answer": ("self_rag_rounds", "self_rag_quality", "loop_seconds", "citation_threshold"),
}


def former_drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Of sites and of sets; other settings stay as they are."""
    for name in ("SiteOptions", "KnowledgeSet"):
        for row in apps.get_model("knowledge", name).objects.exclude(options={}):
            options = {
                group: {key: value for key, value in values.items() if key not in FORMER.get(group, ())}
                for group, values in row.options.items()
            }
            if options != row.options:
                row.options = options
                row.save(update_fields=["options"])


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0069_no_domain_vectors")]

    operations = [migrations.RunPython(former_drop, migrations.RunPython.noop)]
