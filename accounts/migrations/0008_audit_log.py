"""The audit log in monthly partitions, with the actor's name, and append-only by triggers.

Rows are changed by one function alone, which pseudonymises a person and records that it did. Months are removed whole
(accounts.audit.retention). Plain declarative partitions: a partitioned model of django-postgres-extra has a composite
primary key since Django 5.2, which the admin does not take.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

TABLE = """
ALTER TABLE accounts_auditevent RENAME TO accounts_auditevent_before;
CREATE SEQUENCE accounts_audit_event_number AS bigint;
CREATE TABLE accounts_auditevent (
    id bigint NOT NULL DEFAULT nextval('accounts_audit_event_number'),
    at timestamp with time zone NOT NULL,
    tenant_id bigint NOT NULL,
    actor_id bigint,
    actor_name varchar(150) NOT NULL,
    action varchar(64) NOT NULL,
    target varchar(256) NOT NULL,
    data jsonb NOT NULL,
    PRIMARY KEY (id, at)
) PARTITION BY RANGE (at);
ALTER SEQUENCE accounts_audit_event_number OWNED BY accounts_auditevent.id;
CREATE INDEX accounts_audit_tenant ON accounts_auditevent (tenant_id, at DESC);
CREATE INDEX accounts_audit_action ON accounts_auditevent (action, at DESC);
CREATE INDEX accounts_audit_actor ON accounts_auditevent (actor_id, at DESC);
CREATE TABLE accounts_auditevent_default PARTITION OF accounts_auditevent DEFAULT;
"""

FUNCTIONS = """
CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('ragsite.audit_change', true) = pg_current_xact_id()::text THEN
        IF TG_OP = 'TRUNCATE' THEN RETURN NULL; ELSIF TG_OP = 'DELETE' THEN RETURN OLD; ELSE RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'events of the audit log are never changed' USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION accounts_audit_partition(wanted date) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', wanted)::date;
    name text := 'accounts_auditevent_' || to_char(first, 'YYYYMM');
    upper date := (first + interval '1 month')::date;
BEGIN
    IF to_regclass(name) IS NOT NULL THEN RETURN NULL; END IF;
    PERFORM pg_advisory_xact_lock(hashtext('accounts_audit_partition'));
    IF to_regclass(name) IS NOT NULL THEN RETURN NULL; END IF;
    EXECUTE format('CREATE TABLE %I (LIKE accounts_auditevent INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    PERFORM set_config('ragsite.audit_change', pg_current_xact_id()::text, true);
    EXECUTE format(
        'WITH moved AS (DELETE FROM accounts_auditevent_default WHERE at >= %L AND at < %L RETURNING *) '
        'INSERT INTO %I SELECT * FROM moved',
        first::timestamp AT TIME ZONE 'UTC', upper::timestamp AT TIME ZONE 'UTC', name
    );
    PERFORM set_config('ragsite.audit_change', '', true);
    EXECUTE format(
        'ALTER TABLE accounts_auditevent ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        name, first::timestamp AT TIME ZONE 'UTC', upper::timestamp AT TIME ZONE 'UTC'
    );
    EXECUTE format(
        'CREATE TRIGGER accounts_audit_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION accounts_audit_refuse()', name
    );
    RETURN name;
END $$;

CREATE FUNCTION accounts_audit_replace(value jsonb, old text, new text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE jsonb_typeof(value)
        WHEN 'string' THEN CASE WHEN value #>> '{}' = old THEN to_jsonb(new) ELSE value END
        WHEN 'array' THEN (
            SELECT coalesce(jsonb_agg(accounts_audit_replace(item, old, new) ORDER BY place), '[]')
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items(item, place)
        )
        WHEN 'object' THEN (
            SELECT coalesce(jsonb_object_agg(key, accounts_audit_replace(item, old, new)), '{}')
            FROM jsonb_each(value) AS items(key, item)
        )
        ELSE value
    END
$$;

CREATE FUNCTION accounts_audit_pseudonymise(
    person bigint, name text, pseudonym text, acting bigint, acting_name text, home bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
    about text := '^(user|session|password|sign_in|second_factor|person|api_key|identity)[.]';
BEGIN
    PERFORM set_config('ragsite.audit_change', pg_current_xact_id()::text, true);
    UPDATE accounts_auditevent SET
        actor_name = CASE WHEN actor_id = person THEN pseudonym ELSE actor_name END,
        target = CASE WHEN target = name AND action ~ about THEN pseudonym ELSE target END,
        data = accounts_audit_replace(
            CASE WHEN actor_id = person OR (target = name AND action ~ about) THEN data - '{address,agent,changes}'::text[] ELSE data END,
            name, pseudonym
        )
    WHERE actor_id = person OR (target = name AND action ~ about) OR strpos(data::text, to_json(name)::text) > 0;
    GET DIAGNOSTICS changed = ROW_COUNT;
    PERFORM set_config('ragsite.audit_change', '', true);
    INSERT INTO accounts_auditevent (at, tenant_id, actor_id, actor_name, action, target, data)
    VALUES (now(), home, acting, acting_name, 'audit.pseudonymise', pseudonym, jsonb_build_object('events', changed));
    RETURN changed;
END $$;

CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_truncate BEFORE TRUNCATE ON accounts_auditevent
    EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_truncate BEFORE TRUNCATE ON accounts_auditevent_default
    EXECUTE FUNCTION accounts_audit_refuse();
"""

DATA = """
SELECT accounts_audit_partition(month::date) FROM (
    SELECT DISTINCT date_trunc('month', at AT TIME ZONE 'UTC') AS month FROM accounts_auditevent_before
    UNION SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month' FROM generate_series(0, 2) AS n
) AS months ORDER BY month;
INSERT INTO accounts_auditevent (id, at, tenant_id, actor_id, actor_name, action, target, data)
    SELECT e.id, e.at, e.tenant_id, e.actor_id, coalesce(u.username, ''), e.action, e.target, e.data
    FROM accounts_auditevent_before e LEFT JOIN accounts_user u ON u.id = e.actor_id;
SELECT setval('accounts_audit_event_number', greatest((SELECT max(id) FROM accounts_auditevent), 1));
DROP TABLE accounts_auditevent_before;
"""

BACK = """
CREATE TABLE accounts_auditevent_plain (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at timestamp with time zone NOT NULL,
    action varchar(64) NOT NULL,
    target varchar(256) NOT NULL,
    data jsonb NOT NULL,
    actor_id bigint REFERENCES accounts_user DEFERRABLE INITIALLY DEFERRED,
    tenant_id bigint NOT NULL REFERENCES accounts_tenant DEFERRABLE INITIALLY DEFERRED
);
INSERT INTO accounts_auditevent_plain (id, at, action, target, data, actor_id, tenant_id)
    SELECT e.id, e.at, e.action, e.target, e.data, u.id, e.tenant_id
    FROM accounts_auditevent e LEFT JOIN accounts_user u ON u.id = e.actor_id
    WHERE e.tenant_id IN (SELECT id FROM accounts_tenant);
SET CONSTRAINTS ALL IMMEDIATE;
DROP TABLE accounts_auditevent;
DROP FUNCTION accounts_audit_refuse, accounts_audit_partition, accounts_audit_pseudonymise, accounts_audit_replace;
ALTER TABLE accounts_auditevent_plain RENAME TO accounts_auditevent;
SELECT setval(pg_get_serial_sequence('accounts_auditevent', 'id'), greatest((SELECT max(id) FROM accounts_auditevent), 1));
CREATE INDEX accounts_auditevent_at ON accounts_auditevent (at);
CREATE INDEX accounts_auditevent_actor ON accounts_auditevent (actor_id);
CREATE INDEX accounts_auditevent_tenant ON accounts_auditevent (tenant_id);
"""


def demo_was_loaded(apps, schema_editor):
    """The note stood in the audit log, which forgets."""
    Tenant, AuditEvent = apps.get_model("accounts", "Tenant"), apps.get_model("accounts", "AuditEvent")
    loaded = AuditEvent.objects.filter(action="demo.load").values_list("tenant_id", flat=True)
    Tenant.objects.filter(pk__in=list(loaded)).update(demo_loaded=True)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_drop_axes")]

    operations = [
        migrations.AddField(
            "tenant", "demo_loaded", models.BooleanField(default=False, editable=False, verbose_name="has the samples")
        ),
        migrations.RunPython(demo_was_loaded, migrations.RunPython.noop, elidable=True),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RunSQL(
            TABLE + FUNCTIONS + DATA,
            BACK,
            state_operations=[
                migrations.AlterField(
                    "auditevent", "at", models.DateTimeField(auto_now_add=True, verbose_name="time")
                ),
                migrations.AlterField(
                    "auditevent",
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.tenant",
                        verbose_name="tenant",
                    ),
                ),
                migrations.AlterField(
                    "auditevent",
                    "actor",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="actor",
                    ),
                ),
                migrations.AddField(
                    "auditevent",
                    "actor_name",
                    models.CharField(blank=True, max_length=150, verbose_name="actor"),
                ),
                migrations.AddIndex(
                    "auditevent", models.Index(fields=["tenant", "-at"], name="accounts_audit_tenant")
                ),
                migrations.AddIndex(
                    "auditevent", models.Index(fields=["action", "-at"], name="accounts_audit_action")
                ),
                migrations.AddIndex("auditevent", models.Index(fields=["actor", "-at"], name="accounts_audit_actor")),
            ],
        ),
    ]
