"""PostgreSQL and Redis of one DATA_DIR, as a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from ragsite.embedded.data_dir import DataLock
from ragsite.embedded.postgres import Postgres
from ragsite.embedded.redis import Redis


@dataclass
class Services:
    """The embedded services that are wanted, started side by side. The caller holds the lock of the folder."""

    data_dir: Path
    postgres: Postgres | None
    redis: Redis | None

    @classmethod
    def of(
        cls, data_dir: Path, *, postgres: bool = True, redis: bool = True, durable: bool = True, connections: int = 120
    ) -> Services:
        return cls(
            data_dir=data_dir,
            postgres=Postgres(data_dir, durable=durable, connections=connections) if postgres else None,
            redis=Redis(data_dir) if redis else None,
        )

    @property
    def database_url(self) -> str | None:
        return self.postgres.url if self.postgres else None

    @property
    def redis_url(self) -> str | None:
        return self.redis.url if self.redis else None

    def __iter__(self) -> Iterator[Redis | Postgres]:
        """The services in the order in which they are stopped."""
        if self.redis:
            yield self.redis
        if self.postgres:
            yield self.postgres

    def start(self) -> None:
        """Start all, then wait for all; nothing is left running when one fails. Main thread only."""
        try:
            for service in self:
                service.start()
            for service in self:
                service.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for service in self:
            service.stop()


@dataclass
class EmbeddedServices:
    """Both services while the context lasts, e.g. for tests and benchmarks.

    Raises AlreadyRunningError when another process uses the folder, ServiceError when a service does not start.
    """

    data_dir: Path
    durable: bool = True
    _stack: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def __enter__(self) -> Services:
        with ExitStack() as stack:
            stack.enter_context(DataLock(self.data_dir, "embedded services"))
            services = Services.of(self.data_dir, durable=self.durable)
            services.start()
            stack.callback(services.stop)
            self._stack = stack.pop_all()
        return services

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
