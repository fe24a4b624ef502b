"""Numbers of corpus epochs come from a sequence, which goes on from the highest one in use."""

from django.db import migrations

FORWARD = """
CREATE SEQUENCE knowledge_corpus_epoch_number AS bigint;
SELECT setval(
    'knowledge_corpus_epoch_number', coalesce((SELECT max(greatest(value, everywhere)) FROM knowledge_corpusepoch), 0) + 1
);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0067_builds_of_lexicons_as_jobs"),
    ]

    operations = [
        migrations.RunSQL(FORWARD, "DROP SEQUENCE knowledge_corpus_epoch_number"),
    ]
