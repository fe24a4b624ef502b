"""One change of the embedding model at a time, when its vectors were deleted, and what domain vectors find."""

from django.db import migrations, models

ONE_OPEN = """
UPDATE knowledge_embedderswitch SET state = 'cancelled'
WHERE state IN ('building', 'paused', 'ready') AND id <> (
    SELECT id FROM knowledge_embedderswitch WHERE state IN ('building', 'paused', 'ready')
    ORDER BY array_position(ARRAY['ready', 'building', 'paused'], state::text), id DESC LIMIT 1
)
"""
# others may have left some where a process died; weekly maintenance deletes these
ALL_DELETED = """
UPDATE knowledge_embedderswitch s SET vectors_deleted = now()
WHERE s.state IN ('cancelled', 'dropped')
    AND NOT EXISTS (SELECT 1 FROM knowledge_wholevector v WHERE v.embedding_model = s.model)
    AND NOT EXISTS (SELECT 1 FROM knowledge_triplevector v WHERE v.embedding_model = s.model)
"""
STATES = [("building", "being built"), ("live", "in use"), ("retired", "kept, not in use"), ("dropped", "deleted")]


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0056_quotations_of_terms")]

    operations = [
        migrations.AddField("latentmodel", "figures", models.JSONField(blank=True, default=dict)),
        migrations.AlterField(
            "latentmodel",
            "state",
            models.CharField(choices=STATES, default="building", max_length=16, verbose_name="state"),
        ),
        migrations.AddField("embedderswitch", "vectors_deleted", models.DateTimeField(null=True)),
        migrations.RunSQL(ONE_OPEN, migrations.RunSQL.noop),
        migrations.RunSQL(ALL_DELETED, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "embedderswitch",
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(("state__in", ("building", "paused", "ready"))),
                name="knowledge_embedder_one_open",
            ),
        ),
    ]
