"""Rotations fitted on large corpora are gone (decision 056): their coarse vectors are made anew by index maintenance.

Until it has run, such a tenant is searched as after a change of the embedding model: by whole vectors.
"""

from django.db import migrations

PACKAGED = """
UPDATE knowledge_tenantvectors
SET rotation = CASE model WHEN 'embedded-minilm-ngrams-1' THEN -1 ELSE 0 END, former = '{}', is_behind = true
WHERE rotation > 0 OR 0 < ANY(former)
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0070_options_that_became_fields")]

    operations = [
        migrations.RunSQL(PACKAGED, migrations.RunSQL.noop),
        migrations.DeleteModel("VectorRotation"),
    ]
