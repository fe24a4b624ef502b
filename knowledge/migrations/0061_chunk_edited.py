"""When an owner wrote the text of a passage."""

from typing import Any

from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def edited_fill(apps: Any, schema_editor: Any) -> None:
    """Passages that show an owner's text now, or did before they were replaced."""
    edits = apps.get_model("knowledge", "ChunkEdit").objects
    shown = edits.filter(pk=OuterRef("edit")).values("updated")
    rows = apps.get_model("knowledge", "Chunk").objects.filter(edit__kind="replace")
    rows.update(edited=Subquery(shown))


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0060_document_title_given")]

    operations = [
        migrations.AddField(
            model_name="chunk",
            name="edited",
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name="edited"),
        ),
        migrations.RunPython(edited_fill, migrations.RunPython.noop),
    ]
