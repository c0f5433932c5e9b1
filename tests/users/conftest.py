"""What tests of this app share."""

from tests.support.documents import folder  # noqa: F401 - a fixture
from tests.support.named_actors import lines_name_who_acts  # noqa: F401 - a fixture
