import subprocess
import sys
from typing import Any

import pytest

import rollmill.expectations

PROGRAM = """
import sys
{imports}
assert "great_expectations" not in sys.modules
assert "prefect" not in sys.modules
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import rollmill.expectations.suites",
        "import rollmill.expectations",
        "from rollmill.expectations import Judgement, Finding, Suite, suite_digest, suite_for",
        "import pyarrow as pa; from rollmill.expectations import suite_digest, suite_for;"
        " suite_digest(suite_for('prompt_response', pa.schema({'response': pa.string()})))",
    ],
)
def test_suites_and_digests_do_without_great_expectations(imports: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(imports=imports)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_everything_exported_is_there() -> None:
    assert all(hasattr(rollmill.expectations, name) for name in rollmill.expectations.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        rollmill.expectations.nonsense  # noqa: B018
