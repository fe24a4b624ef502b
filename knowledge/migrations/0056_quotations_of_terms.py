"""What a suggested term quotes, files of imports, starts of searches for terms; the history keeps no quotations."""

from django.db import migrations, models

STRIP = """
UPDATE knowledge_lexiconchange SET {column} = {column} - 'evidence'
WHERE jsonb_typeof({column}) = 'object' AND {column} ? 'evidence'
"""
RESTORE = """
UPDATE knowledge_lexiconchange SET {column} = {column} || '{{"evidence": ""}}' WHERE jsonb_typeof({column}) = 'object'
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0055_builds_of_lexicons")]

    operations = [
        migrations.AddField(
            model_name="lexiconterm",
            name="evidence_version",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="lexiconchange",
            name="file_name",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="lexiconmining",
            name="starts",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        *(
            migrations.RunSQL(STRIP.format(column=column), RESTORE.format(column=column))
            for column in ("before", "after")
        ),
    ]
