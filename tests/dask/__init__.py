import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
