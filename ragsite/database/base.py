"""Django's backend with a pool of our own; `<name>.base` is where Django looks for it."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django_prometheus.db.backends.postgresql.base import DatabaseWrapper as MeasuredWrapper

from ragsite.database.measured import measured_cursor
from ragsite.database.pool import CheckedPool


class DatabaseWrapper(MeasuredWrapper):  # type: ignore[misc]  # the library has no types
    """Connections come from a CheckedPool; the options of `pool` are those of psycopg_pool."""

    def get_connection_params(self) -> dict[str, Any]:
        """Django's, with measured cursors."""
        params: dict[str, Any] = super(MeasuredWrapper, self).get_connection_params()
        params["cursor_factory"] = measured_cursor(params["cursor_factory"], self.alias, self.vendor)
        return params

    @property
    def pool(self) -> CheckedPool | None:
        """One a process and alias; None where the settings ask for none."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            new_pool = CheckedPool(
                kwargs={**self.get_connection_params(), "autocommit": True},  # Django sets it properly later on
                configure=self._configure_connection,
                **options,
            )
            self._connection_pools.setdefault(self.alias, new_pool)  # another thread may have been faster
        pool: CheckedPool = self._connection_pools[self.alias]
        return pool
