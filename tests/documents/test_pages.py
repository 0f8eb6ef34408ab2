"""What README.md and the documents show is what happens."""

from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import lines_of
from tests.documents.pages import ROOT, Reader, blocks_of, pages

pytestmark = pytest.mark.processes


def write(name, lines):
    with open(name, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


@contextmanager
def nothing():
    yield {}


@contextmanager
def tables():
    """What README takes for granted: tables, here with numbers, categories and gaps."""
    for seed, name in enumerate(("rows.csv", "today.csv", "test.csv", "new.csv")):
        write(name, lines_of(200, seed))
    yield {}


@contextmanager
def one_model():
    import virtualvector
    from virtualvector.datasets import load_ionosphere

    X, y = load_ionosphere(return_X_y=True, random_state=0)
    yield {
        "virtualvector": virtualvector,
        "model": virtualvector.VVMClassifier(margin_noise=0.5).fit(X, y),
    }


@contextmanager
def models_apart():
    """North and South went on from Sunday's model; there is a cluster."""
    import dask.array as da
    from distributed import LocalCluster, default_client

    import virtualvector
    from virtualvector.datasets import load_ionosphere

    X, y = load_ionosphere(return_X_y=True, random_state=0)
    names = {"virtualvector": virtualvector}
    for name, (start, end) in {"sunday": (0, 50), "north": (50, 200), "south": (200, 350)}.items():
        model = virtualvector.VVMClassifier(margin_noise=0.5).partial_fit(X[:50], y[:50])
        names[name] = model.partial_fit(X[start:end], y[start:end]) if start else model
        names[name].save(f"{name}.vvm")
    Path("rows").mkdir()
    for seed in range(2):
        write(f"rows/{seed}.csv", lines_of(300, seed))
    names |= {"X": da.from_array(X), "y": da.from_array(y), "X_new": da.from_array(X[:5])}
    with LocalCluster(processes=False, n_workers=1, dashboard_address=":0") as cluster:
        yield names | {"tcp://scheduler:8786": cluster.scheduler_address}
        default_client().close()


@contextmanager
def orders():
    """What first_steps.md writes."""
    blocks = blocks_of((ROOT / "docs" / "first_steps.md").read_text())
    for block in (block for block in blocks if "open(" in block.text):
        exec(block.text, {})
    yield {}


@contextmanager
def tables_of_another_time():
    with tables() as names:
        write("more.csv", lines_of(50, seed=9))
        yield names


BEFORE = {
    "README.md": tables,
    "python.md": orders,
    "coming_from.md": tables_of_another_time,
    "commands.md": orders,
    "files.md": one_model,
    "scaling.md": models_apart,
}
NEEDS = {"river.md": "river", "scaling.md": "distributed", "coming_from.md": "river"}
# Pages that are there to be followed, and would be no use without.
SHOW = {
    "README.md": 7,
    "coming_from.md": 8,
    "commands.md": 23,
    "python.md": 7,
    "river.md": 6,
    "scaling.md": 4,
    "text.md": 6,
}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page, vvm):
    if not find_spec(NEEDS.get(page.name, "numpy")):
        pytest.skip(f"needs {NEEDS[page.name]}")
    with BEFORE.get(page.name, nothing)() as names:
        text = page.read_text()
        for name in [name for name in names if not name.isidentifier()]:
            text = text.replace(name, names.pop(name))
        reader = Reader(vvm, names)
        reader.follow(page.relative_to(ROOT), text)
    assert reader.done >= SHOW.get(page.name, 0)


@pytest.fixture
def reader():
    def say(*words):
        from tests.forking import Done

        return Done(0 if words[0] == "learn" else 2, f"rows {len(words)}\nerror 0.1\n", "")

    return Reader(say, {})


@pytest.mark.parametrize(
    "page",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n",
        "```python\nraise ValueError\n```\n",
        "    vvm jump\n",
        "```shell\nvvm learn x  # exit code 2\n```\n",
        "```shell\nvvm learn x\n```\n\n```text\nerror 0.2\n```\n",
        "    make nonsense\n",
        "    pip install '.[nonsense]'\n",
        "    python benchmarks/nonsense.py\n",
        "```shell\nrm -rf .\n```\n",
        "```bash\nvvm learn x\n```\n",
        "```sql\nselect 1\n```\n",
    ],
)
def test_a_page_that_is_wrong_is_found(reader, page):
    with pytest.raises((AssertionError, ValueError)):
        reader.follow("page.md", page)


def test_a_page_that_is_right_is_followed(reader):
    page = """
```python
>>> x = 1
```

```python
>>> x
1
```

```shell
vvm learn a b
vvm jump  # exit code 2
```

```text
rows 1
...0.1
```

    make test PYTHON=python3.13    # and more
    what this says is nothing to run
"""
    reader.follow("page.md", page)
    assert reader.done == 5
