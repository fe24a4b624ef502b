import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# Statement triggers note every document whose findability a transaction changes, whoever writes: services, cascades,
# bulk updates. They are disabled until a tenant is moved to another backend (knowledge.indexes.backend_outbox), so that they
# cost nothing where there is none.
DOCUMENTS = """
CREATE FUNCTION knowledge_note_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT tenant_id, id, 0, now() FROM former;
    ELSE
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT n.tenant_id, n.id, 0, now() FROM fresh n JOIN former o USING (id)
        WHERE (n.tenant_id, n.live_version_id, n.deleted, n.clearance, n.tags)
            IS DISTINCT FROM (o.tenant_id, o.live_version_id, o.deleted, o.clearance, o.tags);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER knowledge_note_document_update AFTER UPDATE ON knowledge_document
    REFERENCING OLD TABLE AS former NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_documents();
CREATE TRIGGER knowledge_note_document_delete AFTER DELETE ON knowledge_document
    REFERENCING OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_documents();
ALTER TABLE knowledge_document DISABLE TRIGGER knowledge_note_document_update;
ALTER TABLE knowledge_document DISABLE TRIGGER knowledge_note_document_delete;
"""
SETS = """
CREATE FUNCTION knowledge_note_sets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT DISTINCT d.tenant_id, d.id, 0, now() FROM former s JOIN knowledge_document d ON d.id = s.document_id;
    ELSE
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT DISTINCT d.tenant_id, d.id, 0, now() FROM fresh s JOIN knowledge_document d ON d.id = s.document_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER knowledge_note_set_insert AFTER INSERT ON knowledge_document_sets
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_sets();
CREATE TRIGGER knowledge_note_set_delete AFTER DELETE ON knowledge_document_sets
    REFERENCING OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_sets();
ALTER TABLE knowledge_document_sets DISABLE TRIGGER knowledge_note_set_insert;
ALTER TABLE knowledge_document_sets DISABLE TRIGGER knowledge_note_set_delete;
"""
ENTRIES = """
CREATE FUNCTION knowledge_note_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT DISTINCT e.tenant_id, v.document_id, 0, now()
        FROM former e JOIN knowledge_documentversion v ON v.id = e.version_id;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT DISTINCT e.tenant_id, v.document_id, 0, now()
        FROM fresh e JOIN knowledge_documentversion v ON v.id = e.version_id;
    ELSE  -- weights that were computed anew; moving rows into an index changes nothing for others
        INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
        SELECT DISTINCT e.tenant_id, v.document_id, 0, now()
        FROM fresh e JOIN former o USING (id) JOIN knowledge_documentversion v ON v.id = e.version_id
        WHERE e.bm25 <> o.bm25;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER knowledge_note_entry_insert AFTER INSERT ON knowledge_indexentry
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_entries();
CREATE TRIGGER knowledge_note_entry_update AFTER UPDATE ON knowledge_indexentry
    REFERENCING OLD TABLE AS former NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_entries();
CREATE TRIGGER knowledge_note_entry_delete AFTER DELETE ON knowledge_indexentry
    REFERENCING OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION knowledge_note_entries();
ALTER TABLE knowledge_indexentry DISABLE TRIGGER knowledge_note_entry_insert;
ALTER TABLE knowledge_indexentry DISABLE TRIGGER knowledge_note_entry_update;
ALTER TABLE knowledge_indexentry DISABLE TRIGGER knowledge_note_entry_delete;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_ranking_facts"),
        ("knowledge", "0004_large_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="BackendChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("document_id", models.BigIntegerField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("not_before", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name": "change for a search backend",
                "verbose_name_plural": "changes for a search backend",
            },
        ),
        migrations.CreateModel(
            name="TenantBackend",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="accounts.tenant",
                    ),
                ),
                ("collection", models.CharField(max_length=128)),
                ("after", models.PositiveBigIntegerField(default=0)),
                ("started", models.DateTimeField(default=django.utils.timezone.now)),
                ("ready", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "search backend",
                "verbose_name_plural": "search backends",
            },
        ),
        migrations.RunSQL(DOCUMENTS, "DROP FUNCTION knowledge_note_documents() CASCADE"),
        migrations.RunSQL(SETS, "DROP FUNCTION knowledge_note_sets() CASCADE"),
        migrations.RunSQL(ENTRIES, "DROP FUNCTION knowledge_note_entries() CASCADE"),
    ]
