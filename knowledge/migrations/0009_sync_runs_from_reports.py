from django.db import migrations

# Reports of archives and of webhooks never were runs; those of fetched addresses have a request.
RUNS = """
INSERT INTO knowledge_syncrun
    (job_id, "trigger", pending_sources, request, checkpoint, attempt, heartbeat, lease_until, finished)
SELECT r.id, coalesce(r.report ->> 'trigger', ''),
    ARRAY(
        SELECT source.id::bigint
        FROM jsonb_array_elements_text(coalesce(r.report -> 'waiting', '[]')) WITH ORDINALITY AS source (id, place)
        ORDER BY source.place
    ),
    r.request, coalesce(r.report -> 'before', '{}'),
    CASE WHEN r.state = 'waiting' THEN 0 ELSE 1 END,
    r.heartbeat,
    CASE WHEN r.state = 'running' THEN r.heartbeat + interval '300 seconds' END,
    CASE WHEN r.state = 'done' THEN coalesce(r.cancelled, r.heartbeat) END
FROM (
    SELECT id, report, cancelled, report ->> 'state' AS state, coalesce(report -> 'request', '{}') AS request,
        CASE WHEN coalesce((report ->> 'heartbeat')::float, 0) > 0
             THEN to_timestamp((report ->> 'heartbeat')::float) ELSE created END AS heartbeat
    FROM knowledge_ingestjob WHERE jsonb_exists(report, 'state')
) r
WHERE r.request <> '{}' OR coalesce(r.report ->> 'trigger', '') NOT IN ('archive', 'webhook')
"""
REPORTS = """
UPDATE knowledge_ingestjob
SET report = report - ARRAY['state', 'trigger', 'waiting', 'request', 'heartbeat', 'token', 'before']
WHERE jsonb_exists(report, 'state')
"""
# Back: jobs without a run but with a report are those of archives and webhooks.
REPORTS_BACK = """
UPDATE knowledge_ingestjob j
SET report = j.report || jsonb_build_object(
    'state', CASE WHEN r.job_id IS NULL OR r.finished IS NOT NULL THEN 'done'
                  WHEN r.lease_until IS NULL THEN 'waiting' ELSE 'running' END,
    'trigger', coalesce(r.trigger, CASE WHEN j.source_id IS NULL THEN 'archive' ELSE 'webhook' END),
    'waiting', to_jsonb(coalesce(r.pending_sources, '{}')),
    'request', coalesce(r.request, '{}'),
    'heartbeat', coalesce(extract(epoch FROM r.heartbeat), 0),
    'token', CASE WHEN r.finished IS NULL AND r.lease_until IS NOT NULL THEN md5(random()::text) ELSE '' END,
    'before', coalesce(r.checkpoint, '{}')
)
FROM knowledge_ingestjob k LEFT JOIN knowledge_syncrun r ON r.job_id = k.id
WHERE k.id = j.id AND j.report <> '{}'
"""
RUNS_BACK = "DELETE FROM knowledge_syncrun"


class Migration(migrations.Migration):
    """Lease, heartbeat and work list of runs: from the JSON of their jobs to columns."""

    dependencies = [("knowledge", "0008_sync_runs")]

    operations = [migrations.RunSQL(sql=[RUNS, REPORTS], reverse_sql=[REPORTS_BACK, RUNS_BACK])]
