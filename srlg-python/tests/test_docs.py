"""Tests that run every block of Python in the documentation."""

import importlib.util
import itertools
import re
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pairs import address, assert_close, exact, pairs

import srlg

FOLDER = Path(__file__).parent.parent
PAGES = [FOLDER / "README.md", FOLDER.parent / "docs" / "python.md"]
ENGINES = FOLDER.parent / "docs" / "engines.md"
THRESHOLD = 1024
# The test environment does not contain these packages.
OPTIONAL = {"apache_beam", "pyspark", "ray"}


def blocks(page: Path) -> list[str]:
    if not page.exists():
        return []
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not page.exists():
        pytest.skip(f"{page} is not in this distribution")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert blocks(page)
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)


def packages(block: str) -> list[str]:
    return re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)


@pytest.mark.parametrize("block", blocks(ENGINES), ids=lambda block: "-".join(packages(block)))
@pytest.mark.filterwarnings("default")
def test_engines_find_what_one_detector_finds(
    block: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = [name for name in packages(block) if not importlib.util.find_spec(name)]
    if missing:
        assert set(missing) <= OPTIONAL
        pytest.skip(f"{missing} is not installed")
    inside, peer = pairs(range(150_000))
    columns = {"source": inside, "destination": peer}
    flows = pyarrow.table(
        {name: [address(int(word)) for word in words] for name, words in columns.items()}
    )
    (tmp_path / "flows").mkdir()
    # The sketch of the first file is a delta, because it has more than 100,000 pairs. The others are lists of pairs.
    for start, end in itertools.pairwise([0, 110_000, 130_000, 150_000]):
        path = tmp_path / "flows" / f"{start}.parquet"
        pyarrow.parquet.write_table(flows.slice(start, end - start), path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(block, str(ENGINES), "exec"), names)

    # By default, both addresses of a row are hosts.
    whole = srlg.Detector(window=1)
    whole.ingest_table(flows)
    expected = whole.close_slice()
    assert_close(expected, exact(inside, peer), THRESHOLD)
    if "detector" in names and isinstance(names["detector"], srlg.Detector):
        assert names["detector"].snapshot() == whole.snapshot()
    if "report" in names:
        assert names["report"] == expected
    elif "hosts" in names:
        assert names["hosts"] == [point.host for point in expected]
    else:
        assert f"super_points={len(expected)}>" in capsys.readouterr().out
