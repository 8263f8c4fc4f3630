"""A Prefect server for one run, as a child process: `python -m rollmill.flows.local_server CACHE_DIR`.

It picks a free loopback port, prints it once it serves, and ends when its standard input closes. A parent that dies,
however it dies, closes that pipe, so no server outlives its run. Its database is its own and is removed at the end;
a migrated empty one is kept in CACHE_DIR, so that only the first run pays for the migrations.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import uvicorn

_GRACE_SECONDS = 5.0


def main() -> None:
    """Serve until standard input closes."""
    cache = Path(sys.argv[1])
    home = Path(tempfile.mkdtemp(prefix="rollmill-prefect-"))
    try:
        _serve(cache, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _serve(cache: Path, home: Path) -> None:
    database = home / "prefect.db"
    os.environ.update(_environment(home, database))
    import prefect
    import uvicorn
    from prefect.server.api.server import create_app

    template = cache / f"prefect-{prefect.__version__}.db"
    fresh = not _copy_database(template, database)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(ephemeral=True, final=True), log_level="critical", lifespan="on")
    server = _Server(config, listener.getsockname()[1], (database, template) if fresh else None)
    threading.Thread(target=_end_with_parent, args=(server, home), daemon=True).start()
    server.run(sockets=[listener])


def _environment(home: Path, database: Path) -> dict[str, str]:
    return {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": "",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
        "DO_NOT_TRACK": "1",
    }


def _Server(config: uvicorn.Config, port: int, keep: tuple[Path, Path] | None) -> uvicorn.Server:  # noqa: N802
    """Make a uvicorn server that prints its port once it serves, and keeps a copy of its database if asked to."""
    import uvicorn

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                if keep:
                    _keep_database(*keep)
                sys.stdout.write(f"{port}\n")
                sys.stdout.flush()

    return Announcing(config)


def _copy_database(template: Path, database: Path) -> bool:
    try:
        shutil.copyfile(template, database)
    except OSError:
        return False
    return True


def _keep_database(database: Path, template: Path) -> None:
    """Copy the migrated database aside; another run may do the same at the same time."""
    draft = template.with_name(f"{template.name}.{os.getpid()}")
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(draft)) as target:
            source.backup(target)
        draft.replace(template)
    except (OSError, sqlite3.Error):
        draft.unlink(missing_ok=True)


def _end_with_parent(server: uvicorn.Server, home: Path) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True
    timer = threading.Timer(_GRACE_SECONDS, _give_up, args=(home,))
    timer.daemon = True
    timer.start()


def _give_up(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
