"""What a reviewer marks, writes and links on a case."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0005_signals_and_origins'),
        ('knowledge', '0028_set_chinese_name'),
    ]

    operations = [
        migrations.AddField(
            model_name='badcase',
            name='accepted',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None),
        ),
        migrations.AddField(
            model_name='badcase',
            name='fix',
            field=models.CharField(blank=True, max_length=500, verbose_name='fix'),
        ),
        migrations.AddField(
            model_name='badcase',
            name='marked_document',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.document'),
        ),
        migrations.AddField(
            model_name='badcase',
            name='marked_ordinal',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='badcase',
            name='right_answer',
            field=models.TextField(blank=True, max_length=4000, verbose_name='right answer'),
        ),
        migrations.AddField(
            model_name='badcase',
            name='told',
            field=models.DateTimeField(blank=True, null=True, verbose_name='user notified'),
        ),
    ]
