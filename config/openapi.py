"""What drf-spectacular is told of the service as a whole."""

from typing import Any

SETTINGS: dict[str, Any] = {
    "TITLE": "Partner Service Interface",
    "DESCRIPTION": "Register users under identifiers of your own, keep their details up to date, learn where they"
    " stand with compliance, and read their conversions and documents. Every request is signed: the guide at /docs"
    " shows how, step by step.",
    "VERSION": "1.0.0",
    "CONTACT": {"name": "Partner support"},
    "LICENSE": {"name": "Proprietary", "identifier": "LicenseRef-Proprietary"},
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": "/", "description": "The service that you read this from."}],
    "TAGS": [
        {"name": "Ping", "description": "The first signed call."},
        {"name": "Users", "description": "Who your users are, and where they stand."},
        {"name": "Conversions", "description": "What your users converted."},
        {"name": "Documents", "description": "Papers issued to your users."},
    ],
    # Paths and answers are what the contract says, each written out once.
    "SORT_OPERATION_PARAMETERS": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # The shapes are named as they are.
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": ["partners.docs.openapi.share_headers"],
}
