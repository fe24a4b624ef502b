import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    """Filters on attributes are answered by an index."""

    dependencies = [
        ("knowledge", "0005_backend_changes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="document",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["metadata"], name="knowledge_document_attributes", opclasses=["jsonb_path_ops"]
            ),
        ),
    ]
