from django.db import migrations

# External ids of uploads belong to the set that a document came into first, those of a source to the source.
HOMES = """
UPDATE knowledge_document d SET home = first.set_id
FROM (
    SELECT DISTINCT ON (document_id) document_id, knowledgeset_id AS set_id
    FROM knowledge_document_sets ORDER BY document_id, id
) first, knowledge_source s
WHERE first.document_id = d.id AND s.id = d.source_id AND s.owner_id IS NULL AND s.kind IN ('upload', 'api')
"""
# The earlier schema knows one record for an identity: the later ones get external ids of their own.
ONE_RECORD = """
UPDATE knowledge_document d
SET external_id = left(d.external_id, 490) || '~' || d.id
WHERE d.deleted IS NULL AND EXISTS (
    SELECT FROM knowledge_document o
    WHERE o.tenant_id = d.tenant_id AND o.deleted IS NULL AND o.id < d.id AND o.external_id = d.external_id
        AND CASE WHEN d.external_id = '' THEN o.sha256 = d.sha256 ELSE o.source_id = d.source_id END
)
"""


class Migration(migrations.Migration):
    """To what the identity of present documents belongs."""

    dependencies = [("knowledge", "0020_own_records")]

    operations = [migrations.RunSQL(sql=HOMES, reverse_sql=ONE_RECORD)]
