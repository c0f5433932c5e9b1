"""What is noticed while a request is read: causes for reading.py, raw_http.py and curl.py."""

from partners.doctor.findings import ERROR, NOTE, WARNING, Cause

FRAGMENT_DROPPED = Cause(
    "fragment-dropped",
    NOTE,
    "The part after # is not sent",
    "A client keeps what follows # in a URL to itself, so it is left out here.",
    "Write %23 where a # belongs to the path or the query.",
)
HEADER_UNREADABLE = Cause(
    "header-unreadable",
    WARNING,
    "A line is no header",
    "Line {number} before the body has no name with a colon after it, and is left out here.",
    "Look whether the empty line between headers and body is missing.",
)
BODY_RESTORED = Cause(
    "body-restored",
    NOTE,
    "The body was changed by pasting",
    "The body is taken {how}: only so has it the {length} that Content-Length says.",
    "Nothing is to be done if that is what you sent.",
    line=5,
)
CONTENT_LENGTH_DIFFERS = Cause(
    "content-length-differs",
    WARNING,
    "The body is not as long as it says",
    "Content-Length says {length}, but the body pasted has {bytes}, so that line 6 may be another one.",
    "Paste the body exactly as it was sent, or compare its SHA-256 with the one that you signed.",
    line=5,
)
CHUNKED = Cause(
    "body-in-chunks",
    NOTE,
    "The body was sent in chunks",
    "The digest is of the body alone: the sizes between the chunks, if a log shows them, are no part of it.",
    "Paste the body without the sizes of its chunks.",
    line=5,
)
API_KEY_ELSEWHERE = Cause(
    "api-key-elsewhere",
    ERROR,
    "An API key stands outside X-Api-Key",
    "The key is no part of what is signed, and in a URL it ends up in logs; most of it is shown as * here.",
    "Send the key in the header X-Api-Key, and nowhere else.",
)
FILE_NOT_READ = Cause(
    "file-not-read",
    WARNING,
    "The command takes data from a file",
    "What @ names lies on your machine and is left out here, so the canonical request may be another one.",
    "Put the data into the command: --data-binary followed by the body in quotation marks.",
)
FORM_NOT_READ = Cause(
    "form-not-read",
    WARNING,
    "The command sends a form of several parts",
    "curl makes a new separator for each such form, so the body cannot be signed before, and the service takes"
    " JSON only.",
    "Send JSON with --data-binary.",
    line=5,
)
VARIABLE_NOT_KNOWN = Cause(
    "variable-not-known",
    WARNING,
    "The command holds variables of a shell",
    "Their values are not known here: the text stands for itself.",
    "Paste the command with the values that were sent, but without any secret.",
)
URL_CUT = Cause(
    "url-cut",
    ERROR,
    "The shell cuts the URL at &",
    "The URL is not in quotation marks, so the shell ends the command at the first & and the rest is not sent.",
    "Put the URL into quotation marks.",
    line=2,
)

CAUSES = (
    FRAGMENT_DROPPED,
    HEADER_UNREADABLE,
    BODY_RESTORED,
    CONTENT_LENGTH_DIFFERS,
    CHUNKED,
    API_KEY_ELSEWHERE,
    FILE_NOT_READ,
    FORM_NOT_READ,
    VARIABLE_NOT_KNOWN,
    URL_CUT,
)
