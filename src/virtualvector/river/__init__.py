"""The learners as river's classifiers: for its pipelines, evaluations and streams of dicts.

They need river (``pip install river``), which nothing else here imports.
"""

try:
    import river as _river  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ModuleNotFoundError(
        "virtualvector.river needs river, which is not installed: pip install river",
        name="river",
    ) from None

from virtualvector.river.auto import AutoVVMClassifier
from virtualvector.river.linear import ADFClassifier, VVMClassifier, WindowEPClassifier

__all__ = ["ADFClassifier", "AutoVVMClassifier", "VVMClassifier", "WindowEPClassifier"]
