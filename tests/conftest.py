import os
import signal

from hypothesis import settings

# scikit-learn's checks of array-API input run only if this is set before scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Tests run side by side already: idle threads of matrix products would only take time from them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples every time, and no deadline: the first one may have to compile.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# What is run in the background, or by nohup, ignores these, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)
