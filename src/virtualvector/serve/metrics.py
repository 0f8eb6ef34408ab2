"""Figures for Prometheus, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate

from virtualvector.serve.service import Service

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds

Labels = tuple[tuple[str, str], ...]


class Latency:
    """How long requests took, by what was asked for.

    Examples
    --------
    >>> from virtualvector.serve.metrics import Latency
    >>> latency = Latency()
    >>> for seconds in (0.0004, 0.0006, 0.004):
    ...     latency.add("/predict", 200, seconds)
    >>> latency.quantile("/predict", 0.5), latency.quantile("/predict", 0.99)
    (0.001, 0.005)
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.sums: Counter[str] = Counter()
        self._bins: dict[str, list[int]] = {}

    def add(self, path: str, status: int, seconds: float) -> None:
        """Add a request."""
        self.requests[path, status] += 1
        self.sums[path] += seconds  # type: ignore[assignment]
        bins = self._bins.setdefault(path, [0] * (len(BUCKETS) + 1))
        bins[bisect_left(BUCKETS, seconds)] += 1

    def up_to(self, path: str) -> list[int]:
        """Return how many requests took no longer than each bound, and how many there were."""
        return list(accumulate(self._bins.get(path, [0] * (len(BUCKETS) + 1))))

    def quantile(self, path: str, share: float) -> float | None:
        """Return a bound that this share of requests did not exceed; None if there is none."""
        counts = self.up_to(path)
        reached = bisect_left(counts, share * counts[-1]) if counts[-1] else len(BUCKETS)
        return BUCKETS[reached] if reached < len(BUCKETS) else None

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return sorted(self._bins)

    def exposition(self) -> str:
        """Return all this in the text format of Prometheus."""
        requests: dict[Labels, float] = {
            (("path", path), ("status", str(status))): n
            for (path, status), n in sorted(self.requests.items())
        }
        counted = _metric("vvm_requests_total", "counter", "Requests by path and status.", requests)
        return _text(counted) + _text(_histogram(self))


def exposition(service: Service) -> str:
    """Return what a service knows in the text format of Prometheus."""
    return _text(_lines(service))


def _text(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _lines(service: Service) -> Iterator[str]:
    snapshot, counts = service.snapshot, service.learner.counts
    figures = snapshot.monitor.figures()
    yield from _metric(
        "vvm_labels_total",
        "counter",
        "Labels by what became of them, since the start.",
        {(("outcome", name),): n for name, n in sorted(service.outcomes.items())},
    )
    yield from _metric(
        "vvm_unseen_values_total",
        "counter",
        "Values of categories that were never learned, since the start.",
        {(("column", name),): n for name, n in sorted(service.unseen.items())},
    )
    gauges = {
        "vvm_ready": ("1 if all is well.", float(not service.troubles())),
        "vvm_learned_labels": (
            "Labels of the store that the model has learned.",
            snapshot.sequence,
        ),
        "vvm_rows_learned": ("Rows that the model has learned in all.", snapshot.model.n_seen_),
        "vvm_experts_awake": ("Experts that learn and predict.", snapshot.model.n_awake_),
        "vvm_drift_alarms": ("Drift alarms since the service began.", snapshot.monitor.n_alarms),
        "vvm_answers_stored": ("Answers in the store.", counts.get("answers")),
        "vvm_answers_waiting": ("Answers that have no label yet.", counts.get("waiting")),
        "vvm_conflicts": ("Labels kept for a person.", counts.get("conflicts")),
        "vvm_entries_pending": ("Rows and labels to be written.", service.writer.n_pending),
        "vvm_error": ("Share of answers that were wrong.", figures.get("error")),
        "vvm_log_loss": (
            "Mean log-loss of what was predicted at the time.",
            figures.get("log_loss"),
        ),
        "vvm_calibration_error": (
            "Distance of predicted and observed.",
            figures.get("calibration_error"),
        ),
        "vvm_base_error": ("Error of always saying the same.", figures.get("base_error")),
        "vvm_base_log_loss": ("Log-loss of the classes' shares.", figures.get("base_log_loss")),
    }
    recent = figures.get("recent", {})
    gauges["vvm_recent_error"] = ("Error of the last labels.", recent.get("error"))
    gauges["vvm_recent_log_loss"] = ("Log-loss of the last labels.", recent.get("log_loss"))
    for name, (words, value) in gauges.items():
        if value is not None:
            yield from _metric(name, "gauge", words, {(): value})


def _histogram(latency: Latency) -> Iterator[str]:
    name = "vvm_request_seconds"
    yield f"# HELP {name} How long requests took."
    yield f"# TYPE {name} histogram"
    for path in latency.paths:
        counts = latency.up_to(path)
        bounds = [*map(str, BUCKETS), "+Inf"]
        for bound, n in zip(bounds, counts, strict=True):
            yield f'{name}_bucket{{path="{path}",le="{bound}"}} {n}'
        yield f'{name}_sum{{path="{path}"}} {latency.sums[path]}'
        yield f'{name}_count{{path="{path}"}} {counts[-1]}'


def _metric(name: str, kind: str, words: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        yield f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
