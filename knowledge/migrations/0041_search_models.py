import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
import pgvector.django.indexes
from django.conf import settings
from django.db import migrations, models

# An entry and a fact have a vector of each model that is kept. Rows of both tables stay where they are.
KEYS = """
ALTER TABLE knowledge_wholevector DROP CONSTRAINT knowledge_wholevector_pkey;
ALTER TABLE knowledge_wholevector ADD CONSTRAINT knowledge_wholevector_pkey PRIMARY KEY (entry_id, embedding_model);
ALTER TABLE knowledge_triplevector DROP CONSTRAINT knowledge_triplevector_pkey;
ALTER TABLE knowledge_triplevector ADD CONSTRAINT knowledge_triplevector_pkey PRIMARY KEY (triple_id, embedding_model);
"""
KEYS_BACK = """
DELETE FROM knowledge_wholevector v USING knowledge_indexentry e
    WHERE e.id = v.entry_id AND e.embedding_model <> v.embedding_model;
DELETE FROM knowledge_triplevector a USING knowledge_triplevector b
    WHERE a.triple_id = b.triple_id AND a.embedding_model > b.embedding_model;
ALTER TABLE knowledge_wholevector DROP CONSTRAINT knowledge_wholevector_pkey;
ALTER TABLE knowledge_wholevector ADD CONSTRAINT knowledge_wholevector_pkey PRIMARY KEY (entry_id);
ALTER TABLE knowledge_triplevector DROP CONSTRAINT knowledge_triplevector_pkey;
ALTER TABLE knowledge_triplevector ADD CONSTRAINT knowledge_triplevector_pkey PRIMARY KEY (triple_id);
"""
TEXTS = """
ALTER TABLE knowledge_entrytext ADD CONSTRAINT knowledge_entrytext_entry
    FOREIGN KEY (entry_id) REFERENCES knowledge_indexentry (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('knowledge', '0040_query_adapters'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(KEYS, KEYS_BACK)],
            state_operations=[
                migrations.DeleteModel(name='WholeVector'),
                migrations.DeleteModel(name='TripleVector'),
                migrations.CreateModel(
                    name='WholeVector',
                    fields=[
                        ('pk', models.CompositePrimaryKey('entry_id', 'embedding_model', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('entry_id', models.BigIntegerField()),
                        ('chunk_id', models.BigIntegerField()),
                        ('version_id', models.BigIntegerField()),
                        ('tenant_id', models.BigIntegerField()),
                        ('representation', models.CharField(max_length=16)),
                        ('embedding_model', models.CharField(max_length=128)),
                        ('vector', pgvector.django.halfvec.HalfVectorField(dimensions=768)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['chunk_id'], name='knowledge_whole_chunk'), models.Index(fields=['version_id'], name='knowledge_whole_version')],
                    },
                ),
                migrations.CreateModel(
                    name='TripleVector',
                    fields=[
                        ('pk', models.CompositePrimaryKey('triple_id', 'embedding_model', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('triple_id', models.BigIntegerField()),
                        ('tenant_id', models.BigIntegerField()),
                        ('embedding_model', models.CharField(max_length=128)),
                        ('vector', pgvector.django.halfvec.HalfVectorField(dimensions=384)),
                    ],
                    options={
                        'indexes': [pgvector.django.indexes.HnswIndex(ef_construction=64, fields=['vector'], m=16, name='knowledge_triple_vector', opclasses=['halfvec_cosine_ops'])],
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name='EntryText',
            fields=[
                ('entry_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('text', models.TextField()),
            ],
        ),
        migrations.RunSQL(TEXTS, migrations.RunSQL.noop),
        migrations.AddField(
            model_name='tenantvectors',
            name='is_behind',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='SearchModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=[('embed', 'embedding model'), ('rerank', 'reranker')], default='embed', max_length=8, verbose_name='kind')),
                ('provider', models.CharField(choices=[('packaged', 'built-in'), ('server', 'a server'), ('folder', 'a folder on this machine')], default='server', max_length=16, verbose_name='where it runs')),
                ('name', models.CharField(blank=True, help_text='Name on the server, such as bge-m3, or the path of its folder. Built-in models need none.', max_length=512, verbose_name='model')),
                ('url', models.CharField(blank=True, help_text='Of a server: of its OpenAI-compatible API for embedding models, of its rerank API for rerankers.', max_length=1024, verbose_name='address')),
                ('key', models.TextField(blank=True, editable=False, verbose_name='key')),
                ('query_prefix', models.CharField(blank=True, help_text='As the card of the model asks: “query: ”.', max_length=512, verbose_name='before questions')),
                ('document_prefix', models.CharField(blank=True, max_length=512, verbose_name='before passages')),
                ('pooling', models.CharField(blank=True, choices=[('cls', 'first token'), ('mean', 'mean of all tokens'), ('max', 'maximum of all tokens'), ('lasttoken', 'last token')], help_text='How tokens become one vector. If empty, the model\'s own setting is used.', max_length=16, verbose_name='pooling')),
                ('max_tokens', models.PositiveIntegerField(blank=True, help_text='Of each text. If empty, the model\'s own setting is used.', null=True, validators=[django.core.validators.MinValueValidator(128), django.core.validators.MaxValueValidator(1000000)], verbose_name='tokens that are read')),
                ('trust_remote_code', models.BooleanField(default=False, help_text='Some models come with code of their own. It can do everything that this product can do.', verbose_name='run the code in its folder')),
                ('price', models.DecimalField(blank=True, decimal_places=6, help_text='Per million tokens.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price')),
                ('vectors', models.CharField(blank=True, editable=False, max_length=128)),
                ('is_used', models.BooleanField(default=False, editable=False)),
                ('tested', models.DateTimeField(editable=False, null=True, verbose_name='tested')),
                ('test_code', models.CharField(blank=True, editable=False, max_length=32)),
                ('test_data', models.JSONField(blank=True, default=dict, editable=False)),
                ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'search model',
                'verbose_name_plural': 'search models',
                'ordering': ['task', 'name'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('task', 'embed')), fields=('vectors',), name='knowledge_embedder_vectors_once'), models.UniqueConstraint(condition=models.Q(('is_used', True)), fields=('is_used',), name='knowledge_reranker_one_used')],
            },
        ),
        migrations.CreateModel(
            name='EmbedderSwitch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=128)),
                ('state', models.CharField(choices=[('building', 'computing vectors'), ('paused', 'paused'), ('ready', 'ready to switch'), ('live', 'in use'), ('kept', 'kept for rollback'), ('cancelled', 'cancelled'), ('dropped', 'vectors deleted')], default='building', max_length=16, verbose_name='state')),
                ('done', models.PositiveBigIntegerField(default=0, verbose_name='passages done')),
                ('total', models.PositiveBigIntegerField(default=0, verbose_name='passages')),
                ('heartbeat', models.DateTimeField(null=True)),
                ('error_code', models.CharField(blank=True, max_length=64)),
                ('error_message', models.CharField(blank=True, max_length=512)),
                ('error_data', models.JSONField(blank=True, default=dict)),
                ('figures', models.JSONField(blank=True, default=dict)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, verbose_name='started')),
                ('live_since', models.DateTimeField(null=True, verbose_name='in use since')),
                ('reason', models.CharField(blank=True, max_length=512)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='author')),
                ('target', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='switches', to='knowledge.searchmodel', verbose_name='model')),
            ],
            options={
                'verbose_name': 'change of the embedding model',
                'verbose_name_plural': 'changes of the embedding model',
                'ordering': ['-pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('live', 'kept'))), fields=('state',), name='knowledge_embedder_one_of_each')],
            },
        ),
    ]
