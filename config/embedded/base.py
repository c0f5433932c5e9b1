"""The database backend with the embedded server, which the first connection starts."""

from pathlib import Path
from typing import Any

from django.conf import settings

from config.database import base
from config.embedded.server import EmbeddedServer

server = EmbeddedServer(Path(settings.BASE_DIR) / ".local" / "postgres")


class DatabaseWrapper(base.DatabaseWrapper):
    """Starts the embedded server before it connects."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a new connection. Raises EmbeddedServerError."""
        server.ensure_running()
        return super().get_new_connection(conn_params)
