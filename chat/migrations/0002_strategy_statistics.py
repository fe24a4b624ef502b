from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('chat', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='StrategyStatistics',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('strategy', models.CharField(max_length=32, verbose_name='strategy')),
                ('day', models.DateField(verbose_name='day')),
                ('answers', models.PositiveIntegerField(default=0, verbose_name='answers')),
                ('total_seconds', models.FloatField(default=0)),
                ('confidence_sum', models.FloatField(default=0)),
                ('refused', models.PositiveIntegerField(default=0, verbose_name='refused')),
                ('degraded', models.PositiveIntegerField(default=0, verbose_name='without the language model')),
                ('tenant', models.ForeignKey(on_delete=models.deletion.CASCADE, related_name='+', to='accounts.tenant', verbose_name='tenant')),
            ],
            options={
                'verbose_name': 'figures of a strategy',
                'verbose_name_plural': 'figures of strategies',
                'ordering': ['-day', 'strategy'],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'strategy', 'day'), name='chat_strategy_day_once')],
            },
        ),
    ]
