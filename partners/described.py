"""How GET /v1/ping is described to partners."""

from partners.api.description import Operation, Shape

# A date-time of an answer: contract, section 6.
INSTANT = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$",
}

PING = Operation(
    id="ping",
    tag="Ping",
    summary="Say hello",
    description="The first signed call that everybody makes: it changes nothing, and its answer means that key,"
    " clock and signature are right.",
    answer=Shape(
        "Ping",
        lambda: {
            "type": "object",
            "required": ["partner", "serverTime"],
            "properties": {
                "partner": {
                    "type": "string",
                    "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
                    "minLength": 1,
                    "maxLength": 50,
                    "description": "Who the service takes you for.",
                },
                "serverTime": INSTANT | {"description": "The service's clock: compare yours with it."},
            },
        },
        {"partner": "acme", "serverTime": "2026-01-15T10:30:00.000000Z"},
    ),
    answered="The request is signed correctly.",
)
