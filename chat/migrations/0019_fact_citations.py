"""Citations of imported facts."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0018_no_leases_of_attachments")]

    operations = [
        migrations.CreateModel(
            name="FactCitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("excerpt", models.TextField(blank=True, verbose_name="excerpt")),
                ("segment", models.TextField(blank=True)),
                ("position", models.PositiveIntegerField(default=0)),
                ("score", models.FloatField(default=0)),
                ("confidence", models.FloatField(default=0, verbose_name="confidence")),
                ("weak", models.BooleanField(default=False)),
                ("cited", models.BooleanField(default=True)),
                ("relevance", models.FloatField(blank=True, null=True)),
                ("triple_id", models.BigIntegerField()),
                ("knowledge_set_id", models.BigIntegerField()),
                ("file", models.CharField(max_length=255)),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fact_citations",
                        to="chat.message",
                    ),
                ),
            ],
            options={
                "verbose_name": "citation of an imported fact",
                "verbose_name_plural": "citations of imported facts",
                "ordering": ["message", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("message", "number"), name="chat_fact_citation_once")
                ],
            },
        ),
    ]
