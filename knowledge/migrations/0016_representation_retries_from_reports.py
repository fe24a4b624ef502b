from django.db import migrations

# Reports of versions count what was written how, not by passage. Where a model that did not answer wrote none of the
# summaries, or none of the questions, of a version, it is known which passages lack them: all. Of a version for which
# it wrote some nothing is guessed; who wants them processes the document again.
RETRIES = """
INSERT INTO knowledge_representationretry
    (chunk_id, version_id, lacks_summary, lacks_questions, reason, created, attempts, faults)
SELECT lacking.* FROM (
    SELECT c.id, c.version_id,
        CASE WHEN c.kind = 'section'
             THEN jsonb_exists(v.counts, 'section.outline') AND NOT jsonb_exists(v.counts, 'section.model')
             ELSE jsonb_exists(v.counts, 'summary.extractive') AND NOT jsonb_exists(v.counts, 'summary.model')
                  AND EXISTS (SELECT FROM knowledge_indexentry e WHERE e.chunk_id = c.id AND e.representation = 'summary')
        END AS lacks_summary,
        c.kind <> 'section' AND jsonb_exists(v.counts, 'question.rules') AND NOT jsonb_exists(v.counts, 'question.model')
            AS lacks_questions,
        'unavailable', now(), 0, 0
    FROM (
        SELECT r.id, r.report -> 'representations' AS counts
        FROM knowledge_document d JOIN knowledge_documentversion r ON r.id = d.live_version_id
        WHERE d.deleted IS NULL AND jsonb_exists(r.report -> 'representations', 'model.unavailable')
    ) v
    JOIN knowledge_chunk c ON c.version_id = v.id AND c.retired IS NULL AND c.edit_id IS NULL
) lacking WHERE lacking.lacks_summary OR lacking.lacks_questions
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    """Passages of present versions that rules described because the language model did not answer."""

    dependencies = [("knowledge", "0015_representation_retries")]

    operations = [migrations.RunSQL(sql=RETRIES, reverse_sql=migrations.RunSQL.noop)]
