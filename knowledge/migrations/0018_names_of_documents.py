from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import OuterRef, Subquery

from ragcore.text.names import name_terms

BATCH = 1000  # documents a transaction
COLUMNS = ("pk", "tenant_id", "external_id", "name", "path")


def names_fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Names of documents by their newest version; an interrupted run goes on where it ended."""
    names = apps.get_model("knowledge", "DocumentNames")
    versions = apps.get_model("knowledge", "DocumentVersion").objects.filter(document=OuterRef("pk"))
    newest = versions.order_by("-number")
    documents = (
        apps.get_model("knowledge", "Document")
        .objects.filter(deleted=None, names=None)
        .annotate(name=Subquery(newest.values("file_name")[:1]), path=Subquery(newest.values("sent_as")[:1]))
        .order_by("pk")
    )
    last = 0
    while rows := list(documents.filter(pk__gt=last).values(*COLUMNS)[:BATCH]):
        made = [
            names(
                document_id=row["pk"],
                tenant_id=row["tenant_id"],
                terms=name_terms(row["name"] or "", path=row["path"] or "", external_id=row["external_id"]),
            )
            for row in rows
        ]
        names.objects.bulk_create(made, ignore_conflicts=True)
        last = rows[-1]["pk"]


class Migration(migrations.Migration):
    """File names and folders of documents that were ingested before they could be searched."""

    atomic = False

    dependencies = [("knowledge", "0017_document_names")]

    operations = [migrations.RunPython(names_fill, migrations.RunPython.noop)]
