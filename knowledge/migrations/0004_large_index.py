from django.db import migrations, models

# `coarse` never leaves the row, the words and the long vector do first: exact scans read what they compare and little
# else (decision 010). Compressing vectors gains nothing. No plan depends on which vectors are common, so they are left
# out of what ANALYZE samples. Rows that exist are stored so when they are written again.
STORAGE = """
ALTER TABLE knowledge_indexentry
    ALTER COLUMN coarse SET STORAGE PLAIN,
    ALTER COLUMN embedding_model SET STORAGE PLAIN,
    ALTER COLUMN representation SET STORAGE PLAIN,
    ALTER COLUMN language SET STORAGE PLAIN,
    ALTER COLUMN lexemes SET STORAGE EXTERNAL,
    ALTER COLUMN bm25 SET STORAGE EXTERNAL,
    ALTER COLUMN fine SET STORAGE EXTERNAL,
    ALTER COLUMN coarse SET STATISTICS 0,
    ALTER COLUMN fine SET STATISTICS 0,
    ALTER COLUMN bm25 SET STATISTICS 0;
"""
COUNTED = """
UPDATE knowledge_document d SET passages = counted.passages, entries = counted.entries
FROM (
    SELECT version_id, count(DISTINCT chunk_id) AS passages, count(*) AS entries
    FROM knowledge_indexentry GROUP BY version_id
) counted WHERE counted.version_id = d.live_version_id;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0003_ranking_facts'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='indexentry', name='knowledge_entry_fine'),
        migrations.AddField(
            model_name='document',
            name='passages',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='document',
            name='entries',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='lexicalstatistics',
            name='former_reference',
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='lexicalstatistics',
            name='reweighed_to',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='lexicalstatistics',
            name='reweigh_until',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(COUNTED, migrations.RunSQL.noop),
    ]
