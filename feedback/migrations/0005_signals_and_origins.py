"""Why a case was opened, and with what the answer was made that people judged."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0004_case_reopened'),
    ]

    operations = [
        migrations.AddField(
            model_name='badcase',
            name='features',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='badcase',
            name='origin',
            field=models.CharField(choices=[('vote', 'User feedback'), ('reword', 'Rephrased the question'), ('stop', 'Stopped the answer'), ('unsupported', 'Sentences without support'), ('refusal', 'Not answered although a title is near')], default='vote', max_length=12, verbose_name='opened by'),
        ),
        migrations.AddField(
            model_name='signal',
            name='features',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='vote',
            name='features',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AlterField(
            model_name='signal',
            name='kind',
            field=models.CharField(choices=[('copy', 'Copied'), ('citation_click', 'Opened a source'), ('reword', 'Rephrased the question'), ('stop', 'Stopped the answer'), ('dwell', 'Reading time'), ('wrong_source', 'Reported a wrong source')], max_length=16, verbose_name='kind'),
        ),
    ]
