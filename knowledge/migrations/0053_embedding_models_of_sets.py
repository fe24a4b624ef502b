"""Embedding models of knowledge sets, with their vectors in a table of their own."""

import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models

# As those of the site's model (decision 020): vectors stay in their row, and go with their entry.
STORAGE = """
ALTER TABLE knowledge_setvector
    ALTER COLUMN vector SET STORAGE PLAIN,
    ALTER COLUMN embedding_model SET STORAGE PLAIN,
    ALTER COLUMN representation SET STORAGE PLAIN,
    ALTER COLUMN vector SET STATISTICS 0,
    ADD CONSTRAINT knowledge_setvector_entry FOREIGN KEY (entry_id) REFERENCES knowledge_indexentry (id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""
STATES = [
    ("building", "computing vectors"),
    ("paused", "paused"),
    ("ready", "ready to switch"),
    ("live", "in use"),
    ("off", "switched off, kept"),
    ("cancelled", "cancelled"),
    ("dropped", "vectors deleted"),
]
MODES = [("fused", "together with the site's model"), ("alone", "alone")]
OPEN = ("building", "paused", "ready")


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("accounts", "0010_record_use"),
        ("knowledge", "0052_slices_of_trainings"),
    ]

    operations = [
        migrations.CreateModel(
            name="SetVector",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "entry_id",
                        "embedding_model",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("entry_id", models.BigIntegerField()),
                ("chunk_id", models.BigIntegerField()),
                ("version_id", models.BigIntegerField()),
                ("tenant_id", models.BigIntegerField()),
                ("representation", models.CharField(max_length=16)),
                ("embedding_model", models.CharField(max_length=128)),
                ("vector", pgvector.django.halfvec.HalfVectorField(dimensions=768)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["chunk_id"], name="knowledge_set_vector_chunk"),
                    models.Index(fields=["version_id"], name="knowledge_set_vector_version"),
                    models.Index(fields=["tenant_id", "embedding_model", "entry_id"], name="knowledge_set_vector_model"),
                ],
            },
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="SetEmbedder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(max_length=128)),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("mode", models.CharField(choices=MODES, default="fused", max_length=8, verbose_name="mode")),
                ("state", models.CharField(choices=STATES, default="building", max_length=16, verbose_name="state")),
                ("done", models.PositiveBigIntegerField(default=0, verbose_name="passages done")),
                ("total", models.PositiveBigIntegerField(default=0, verbose_name="passages")),
                ("heartbeat", models.DateTimeField(null=True)),
                ("error_code", models.CharField(blank=True, max_length=64)),
                ("error_message", models.CharField(blank=True, max_length=512)),
                ("error_data", models.JSONField(blank=True, default=dict)),
                ("figures", models.JSONField(blank=True, default=dict)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, verbose_name="started")),
                ("live_since", models.DateTimeField(null=True, verbose_name="in use since")),
                ("reason", models.CharField(blank=True, max_length=512)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="author",
                    ),
                ),
                (
                    "knowledge_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embedders",
                        to="knowledge.knowledgeset",
                        verbose_name="set",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="set_embedders",
                        to="knowledge.searchmodel",
                        verbose_name="model",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "embedding model of a set",
                "verbose_name_plural": "embedding models of sets",
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("knowledge_set", "number"), name="knowledge_set_embedder_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")),
                        fields=("knowledge_set",),
                        name="knowledge_set_embedder_one_live",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", OPEN)),
                        fields=("knowledge_set",),
                        name="knowledge_set_embedder_one_open",
                    ),
                ],
            },
        ),
    ]
