"""Many machines, one posterior: learners for Dask collections, `virtualvector[dask]`."""

from virtualvector.dask.classifiers import DaskADFClassifier, DaskVVMClassifier

__all__ = ["DaskADFClassifier", "DaskVVMClassifier"]
