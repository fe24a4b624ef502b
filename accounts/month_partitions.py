"""Tables in monthly partitions: months made ahead, and dropped whole when they are old (decision 023)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db import connection
from psycopg import sql

MONTHS_AHEAD = 2
PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{6}$' ORDER BY c.relname
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthPartitions:
    """The months of one table, named PREFIX + "202611". Call the methods within a transaction."""

    table: str
    prefix: str
    function: (
        str  # of SQL, takes the first day of a month; makes its partition and returns the name, NULL if it is there
    )

    def make_ahead(self, today: date) -> list[str]:
        """Make this month and the next ones; returns the new ones. What stands in the default partition moves."""
        names = []
        with connection.cursor() as cursor:
            for ahead in range(MONTHS_AHEAD + 1):
                call = sql.SQL("SELECT {}(%s)").format(sql.Identifier(self.function))
                cursor.execute(call, [months_after(today, ahead)])
                (name,) = cursor.fetchone()
                names += [name] if name else []
        return names

    def drop_before(self, oldest: date) -> dict[str, int]:
        """Drop the months before that of `oldest`; name -> how many rows it had."""
        dropped = {}
        with connection.cursor() as cursor:
            cursor.execute(PARTITIONS, [self.table])
            old = [name for (name,) in cursor.fetchall() if name.removeprefix(self.prefix) < f"{oldest:%Y%m}"]
            for name in old:
                cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
                (dropped[name],) = cursor.fetchone()
                cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
        return dropped


def months_after(day: date, months: int) -> date:
    """The first day of the month so many months later."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)
