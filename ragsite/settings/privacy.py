"""How long things about people are kept, and whether deleted documents outlive in answers."""

from ragsite.env import env

AUDIT_MONTHS = env.AUDIT_MONTHS
KEEP_CONVERSATIONS_DAYS = env.KEEP_CONVERSATIONS_DAYS
KEEP_TRACES_DAYS = env.KEEP_TRACES_DAYS
KEEP_SIGNALS_DAYS = env.KEEP_SIGNALS_DAYS
KEEP_NOTIFICATIONS_DAYS = env.KEEP_NOTIFICATIONS_DAYS
PURGE_CITED = env.PURGE_CITED
