"""The database backend with the embedded server, which the first connection starts."""

from typing import Any

from config.embedded.server import checkout_server
from core.database import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Starts the embedded server before it connects."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a new connection. Raises EmbeddedServerError."""
        checkout_server.ensure_running()
        return super().get_new_connection(conn_params)
