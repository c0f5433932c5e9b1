"""Django's PostgreSQL backend, which starts the embedded server when it is first connected to."""

from pathlib import Path
from typing import Any

from django.conf import settings

from config.database.base import DatabaseWrapper as BoundedWrapper
from config.embedded.server import EmbeddedServer

server = EmbeddedServer(Path(settings.BASE_DIR) / ".local" / "postgres")


class DatabaseWrapper(BoundedWrapper):
    """Connects to the embedded server. Starting it here keeps `--help` from starting anything."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A new psycopg connection; raises EmbeddedServerError where the server does not start."""
        server.ensure_running()
        return super().get_new_connection(conn_params)
