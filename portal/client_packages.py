"""The client packages as archives, which pip and npm install from their address."""

import gzip
import io
import tarfile
from functools import lru_cache
from pathlib import Path

from django.conf import settings

FOLDER: Path = settings.BASE_DIR / "clients"
# The names of the archives, and the folders of the packages.
PACKAGES = {"psi-python.tar.gz": "python", "psi-node.tgz": "node"}
_SUFFIXES = {".py", ".typed", ".toml", ".md", ".json", ".mjs", ".mts", ".cjs", ".cts"}


@lru_cache(maxsize=len(PACKAGES))
def archive(name: str) -> bytes:
    """Return the archive, the same bytes each time. Raises KeyError for an unknown name."""
    folder = FOLDER / PACKAGES[name]
    content = io.BytesIO()
    # npm wants this name for the folder, and pip takes any.
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in _SUFFIXES:
                entry = tarfile.TarInfo(f"package/{path.relative_to(folder).as_posix()}")
                entry.size = path.stat().st_size
                tar.addfile(entry, io.BytesIO(path.read_bytes()))
    return gzip.compress(content.getvalue(), mtime=0)
