import os

# scikit-learn's checks of array-API input run only if this is set before scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
