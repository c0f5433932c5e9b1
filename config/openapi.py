"""What drf-spectacular is told of the service as a whole."""

from typing import Any

SETTINGS: dict[str, Any] = {
    "TITLE": "Partner Service Interface",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/v1/?",
    "DISABLE_ERRORS_AND_WARNINGS": False,
}
