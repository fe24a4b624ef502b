"""Vectors of the sentences of passages. Existing passages get theirs in the background."""

from django.db import migrations, models

# Numbers hardly compress. Passages are deleted in many places, in SQL and by the ORM: the database lets their
# sentences go with them.
STORAGE = """
ALTER TABLE knowledge_passagesentences
    ALTER COLUMN keys SET STORAGE EXTERNAL,
    ALTER COLUMN keys SET STATISTICS 0,
    ALTER COLUMN numbers SET STORAGE EXTERNAL,
    ALTER COLUMN numbers SET STATISTICS 0,
    ADD CONSTRAINT knowledge_passagesentences_chunk FOREIGN KEY (chunk_id) REFERENCES knowledge_chunk (id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0063_limits_and_tests_of_models")]

    operations = [
        migrations.CreateModel(
            name="PassageSentences",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "chunk_id",
                        "embedding_model",
                        "space",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("chunk_id", models.BigIntegerField()),
                ("version_id", models.BigIntegerField()),
                ("tenant_id", models.BigIntegerField()),
                ("embedding_model", models.CharField(max_length=128)),
                ("space", models.CharField(max_length=64)),
                ("keys", models.BinaryField()),
                ("numbers", models.BinaryField()),
            ],
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
