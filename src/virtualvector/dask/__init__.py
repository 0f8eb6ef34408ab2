"""Many machines, one posterior: learners for Dask collections.

They need Dask (``pip install virtualvector[dask]``), which nothing else here imports.
"""

try:
    import dask.array as _array  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"virtualvector.dask needs {error.name}, which is not installed: "
        "pip install 'virtualvector[dask]'",
        name=error.name,
    ) from None

from virtualvector.dask.classifiers import (
    DaskADFClassifier,
    DaskAutoVVMClassifier,
    DaskVVMClassifier,
)
from virtualvector.dask.settings import lean_settings

__all__ = ["DaskADFClassifier", "DaskAutoVVMClassifier", "DaskVVMClassifier", "lean_settings"]
