"""The picture that section 2 describes: planes cut a sphere, and what VVM keeps of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from virtualvector.paper.exact.sphere_geometry import Region, cut_sphere
from virtualvector.paper.experiment import Experiment, Options, Record, Statement, Task
from virtualvector.paper.figure1 import direction
from virtualvector.paper.mixture import Mixture, labelled
from virtualvector.posterior import Gaussian, Settings, empty_state, gaussian, learn
from virtualvector.posterior.settings import in_words
from virtualvector.posterior.state import POINTS
from virtualvector.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOMENTS, QUICK_MOMENTS = (1, 3, 10, 30, 100, 300), (1, 10, 100)
SETTINGS = Settings(buffer_size=10)
_SAMPLES = 20_000
_SAME = 1e-9  # two unit vectors closer than this are one


class Snapshot(NamedTuple):
    """What is known after some rows, exactly and by VVM."""

    points: Array  # the rows times their labels, at unit length
    region: Region  # the exact posterior: uniform in here
    virtual_points: Array
    approximation: Gaussian

    @property
    def exact(self) -> Array:
        """The direction of the exact posterior mean."""
        return direction(self.region.posterior_mean)


def take_snapshots(seed: Sequence[int], moments: Sequence[int]) -> list[Snapshot]:
    """Learn one stream and look at it at some moments."""
    rows, signs, _ = Mixture().draw(np.random.default_rng(np.random.SeedSequence(seed)))
    points = labelled(rows, signs)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    snapshots = []
    for moment in moments:
        state, _ = learn(empty_state(3, SETTINGS), rows[:moment], signs[:moment], SETTINGS)
        snapshots.append(
            Snapshot(
                points[:moment],
                cut_sphere(points[:moment]),
                state.points[: state.counts[POINTS]],
                gaussian(state),
            )
        )
    return snapshots


def describe(snapshot: Snapshot) -> Record:
    """Return the facts about a snapshot."""
    points, region, virtual, approximation = snapshot
    corners = np.vstack([piece.corners for piece in region.pieces])
    kept = _among(virtual, points)
    cosine = np.clip(snapshot.exact @ direction(approximation.mean), -1.0, 1.0)

    def margins(points: Array) -> Array:
        """In standard deviations, as in section 3.1."""
        size: Array = (
            points @ approximation.mean / np.linalg.norm(points @ approximation.factor.T, axis=1)
        )
        return size

    drawn = (
        approximation.mean
        + np.random.default_rng(0).normal(size=(_SAMPLES, 3)) @ approximation.factor
    )
    both = cut_sphere(np.vstack([points, virtual]))
    return {
        "rows": len(points),
        "area": region.area,
        "share_of_sphere": region.area / (4.0 * np.pi),
        "edges": len(region.edges),
        "smallest_margin_of_a_corner": float(np.min(corners @ points.T)),
        "virtual_points": len(virtual),
        "virtual_points_that_are_rows": int(np.sum(kept >= 0)),
        "edges_kept_as_virtual_points": len(set(kept.tolist()) & set(region.edges)),
        "share_of_region_cut_off_by_virtual_points": max(0.0, 1.0 - both.area / region.area),
        "area_left_by_virtual_points": cut_sphere(virtual).area,
        "mass_of_approximation_inside": float(np.mean(np.all(drawn @ points.T > 0.0, axis=1))),
        "angle_of_means_in_degrees": float(np.degrees(np.arccos(cosine))),
        "length_of_exact_mean": float(np.linalg.norm(region.posterior_mean)),
        "length_of_approximation_mean": float(np.linalg.norm(approximation.mean)),
        "median_margin_of_rows": float(np.median(margins(points))),
        "median_margin_of_virtual_points": float(np.median(margins(virtual))),
        **{f"exact_{k}": float(w) for k, w in enumerate(region.posterior_mean, 1)},
        **{f"mean_{k}": float(w) for k, w in enumerate(approximation.mean, 1)},
    }


def _among(virtual: Array, points: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return for each virtual point the number of the row that it is, or −1: it was merged."""
    distances = np.linalg.norm(virtual[:, None] - points, axis=2)
    return np.where(distances.min(axis=1) < _SAME, distances.argmin(axis=1), -1)


class Sphere(Experiment):
    """Look at one stream as it advances."""

    name: ClassVar[str] = "sphere"
    title: ClassVar[str] = "The posterior on the sphere"
    caption: ClassVar[str] = (
        "The posterior over the direction of three weights without noise, as one stream advances. "
        "Every row's plane (grey) cuts the sphere; the hatched polygon is what is left, and the "
        "exact posterior is uniform in it. Orange, dashed: the planes of VVM's virtual points, at "
        f"most {SETTINGS.buffer_size}. Blue: the directions in which one sees the ellipsoids of "
        "one and two standard deviations of its Gaussian approximation. Above: the sphere, seen "
        "from where the mean is at the end. Below: a map around the exact mean, larger and larger."
    )

    def plan(self, options: Options, records: Sequence[Record]) -> list[Task]:
        """One task: a stream."""
        moments = QUICK_MOMENTS if options.quick else MOMENTS
        return [Task("stream", {"seed": [options.seed], "moments": list(moments)})]

    def work(self, arguments: dict[str, Any]) -> list[Record]:
        """Learn the stream; one record per snapshot."""
        return [describe(s) for s in take_snapshots(arguments["seed"], arguments["moments"])]

    def summarise(self, records: Sequence[Record], options: Options) -> dict[str, Any]:
        """Return every column, by the number of rows."""
        return {
            **{
                column: {str(record["rows"]): record[column] for record in records}
                for column in records[0]
                if column != "rows"
            },
            "parameters": {
                "seed": [options.seed],
                "moments": [record["rows"] for record in records],
                "mixture": Mixture()._asdict(),
                "settings": in_words(SETTINGS),
            },
        }

    def statements(self, summary: dict[str, Any]) -> list[Statement]:
        """Put what sections 2 and 3 say of the posterior beside this stream."""
        moments = list(summary["edges"])
        last = moments[-1]

        def listed(column: str, form: str) -> str:
            return ", ".join(format(summary[column][moment], form) for moment in moments)

        after = f"After {', '.join(moments)} rows"
        lowest = min(summary["smallest_margin_of_a_corner"].values())
        kept, rows = (
            summary[f"median_margin_of_{what}"][last] for what in ("virtual_points", "rows")
        )
        return [
            Statement(
                "The posterior is piecewise constant over convex polygonal regions.",
                f"{after} one polygon is left, with {listed('edges', 'd')} edges; none of its "
                f"corners is on the wrong side of any row (the lowest margin is {lowest:.0e}), and "
                f"it covers {listed('share_of_sphere', '.2g')} of the sphere.",
                lowest > -_SAME and all(area > 0.0 for area in summary["area"].values()),
            ),
            Statement(
                "To represent these polygons exactly would require a memory buffer that grows "
                "with T.",
                f"{after} the polygon has {listed('edges', 'd')} edges. Without noise the rows of "
                "these edges say everything, and in three dimensions there are few; one stream "
                "cannot decide.",
                None,
            ),
            Statement(
                "A sharp truncation near the middle should be kept, while a truncation in the "
                "tail could be discarded.",
                f"After {last} rows the virtual points have a median margin of {kept:.1f} "
                f"standard deviations, the rows one of {rows:.1f}; "
                f"{summary['edges_kept_as_virtual_points'][last]} of "
                f"{summary['edges'][last]} edges are planes of virtual points.",
                kept < rows,
            ),
            Statement(
                "The posterior is approximated by a Gaussian.",
                f"{after} the means point {listed('angle_of_means_in_degrees', '.2g')} degrees "
                f"apart, and {listed('mass_of_approximation_inside', '.2f')} of the Gaussian's "
                "mass is inside the polygon, as all of the posterior's is.",
                None,
            ),
        ]

    def remarks(self, summary: dict[str, Any]) -> list[str]:
        """Say which stream it is."""
        return [
            "The rows are a separable draw from the mixture of figure 1, with ε = 0. The polygon "
            "is found by geometry, without sampling: the eight octants are cut by one plane after "
            "the other.",
            "A virtual point that was merged from two rows has a plane of its own, which can cut "
            "off a part of the polygon that no row does: here at most "
            f"{max(summary['share_of_region_cut_off_by_virtual_points'].values()):.1%} of it. "
            "Where the planes of all edges are those of virtual points, VVM still has the exact "
            "polygon; how its mass lies inside can differ.",
        ]

    def draw(self, records: Sequence[Record], summary: dict[str, Any]) -> Figure:
        """Draw the sphere above and a map around the exact mean below, a column per snapshot."""
        from matplotlib.figure import Figure

        parameters = summary["parameters"]
        snapshots = take_snapshots(parameters["seed"], parameters["moments"])
        figure = Figure(figsize=(2.9 * len(snapshots), 6.2), layout="constrained")
        axes = figure.subplots(2, len(snapshots), squeeze=False)
        for (above, below), snapshot in zip(axes.T, snapshots, strict=True):
            _draw_sphere(above, snapshot, snapshots[-1].exact)
            _draw_map(below, snapshot)
            n = len(snapshot.points)
            above.set_title(f"after {n} row{'s' if n > 1 else ''}")
        axes[0, 0].set_ylabel("the sphere, seen from outside\n(radius 1)")
        axes[1, 0].set_ylabel("degrees from the exact mean")
        handles = _legend_handles()
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        return figure


# A view of the sphere: from unit vectors to the plane (nan where hidden), and back.
Projection = Callable[[Array], Array]
Style = dict[str, Any]

_ROW: Style = {"color": "0.6", "lw": 0.5, "alpha": 0.6, "zorder": 1}
_EDGE: Style = {"color": "black", "lw": 1.8, "zorder": 4}
_VIRTUAL: Style = {"color": "#d55e00", "ls": "--", "lw": 1.2, "zorder": 3}
_STAND_IN: Style = {
    "colors": "#0072b2",
    "linewidths": (2.0, 1.2),
    "linestyles": ("-", ":"),
    "zorder": 5,
}
_EXACT: Style = {"color": "black", "marker": "x", "ms": 6, "mew": 1.8, "ls": "", "zorder": 7}
_MEAN: Style = {
    "color": "#0072b2", "marker": "o", "mfc": "white", "ms": 7, "mew": 1.4, "ls": "", "zorder": 6,
}  # fmt: skip
_REGION: Style = {"colors": ["0.88"], "hatches": ["///"], "zorder": 0}


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines: dict[str, Style] = {
        "edge of it": _EDGE,
        "a row's plane": _ROW,
        "a virtual point's plane": _VIRTUAL,
        "q̃, 1 sd": {"color": "#0072b2", "lw": 2.0},
        "2 sd": {"color": "#0072b2", "lw": 1.2, "ls": ":"},
        "its mean": _MEAN,
        "exact mean": _EXACT,
    }
    region = Patch(facecolor="0.88", edgecolor="black", hatch="///", lw=0.0)
    region.set_label("exact posterior")
    return [region, *(Line2D([], [], label=label, **style) for label, style in lines.items())]


def _draw_sphere(axes: Axes, snapshot: Snapshot, viewpoint: Array) -> None:
    """Draw the half of the sphere that faces the viewer."""
    frame = _frame(viewpoint)
    x, y = np.meshgrid(*2 * [np.linspace(-1.0, 1.0, 301)])
    height = np.sqrt(np.where(x**2 + y**2 < 1.0, 1.0 - x**2 - y**2, np.nan))

    def project(w: Array) -> Array:
        x, y, height = frame @ w.T
        return np.where(height >= 0.0, [x, y], np.nan)

    _draw_view(axes, snapshot, (x, y), np.stack([x, y, height], axis=-1) @ frame, project)
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    axes.plot(np.cos(circle), np.sin(circle), color="0.3", lw=1.0)
    axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_map(axes: Axes, snapshot: Snapshot) -> None:
    """Draw a map that shows distances from the exact mean as they are, in degrees."""
    frame = _frame(snapshot.exact)
    corners = np.vstack([piece.corners for piece in snapshot.region.pieces])
    reach = 1.25 * np.degrees(np.arccos(np.clip(corners @ snapshot.exact, -1.0, 1.0))).max()
    reach = min(reach, 120.0)
    x, y = np.meshgrid(*2 * [np.linspace(-reach, reach, 301)])
    distance = np.radians(np.hypot(x, y))
    stretch = np.sinc(distance / np.pi)  # sin(distance)/distance

    def project(w: Array) -> Array:
        x, y, height = frame @ w.T
        flat = np.hypot(x, y)
        degrees = np.degrees(np.arctan2(flat, height))
        place = degrees / np.maximum(flat, 1e-300) * np.array([x, y])
        return np.where(degrees < 2.0 * reach, place, np.nan)

    w = np.stack([np.radians(x) * stretch, np.radians(y) * stretch, np.cos(distance)], axis=-1)
    _draw_view(axes, snapshot, (x, y), w @ frame, project)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="degrees")


def _draw_view(
    axes: Axes, snapshot: Snapshot, grid: tuple[Array, Array], w: Array, project: Projection
) -> None:
    """Draw everything in one view; ``w`` are the unit vectors of a grid in the plane."""
    inside = np.all(w @ snapshot.points.T > 0.0, axis=-1)
    axes.contourf(*grid, inside.astype(float), levels=[0.5, 1.5], **_REGION)
    for b in snapshot.points:
        axes.plot(*project(_great_circle(b)), **_ROW)
    for b in snapshot.virtual_points:
        axes.plot(*project(_great_circle(b)), **_VIRTUAL)
    for piece in snapshot.region.pieces:
        following = np.roll(piece.corners, -1, axis=0)
        for edge, start, end in zip(piece.edges, piece.corners, following, strict=True):
            if edge >= 0:
                axes.plot(*project(_arc(start, end)), **_EDGE)
    distances = distance_of_ray(w, snapshot.approximation)
    levels = [level for level in (1.0, 2.0) if np.nanmin(distances) < level < np.nanmax(distances)]
    if levels:
        axes.contour(*grid, distances, levels=levels, **_STAND_IN)
    axes.plot(*project(direction(snapshot.approximation.mean)[None]), **_MEAN)
    axes.plot(*project(snapshot.exact[None]), **_EXACT)


def distance_of_ray(w: Array, approximation: Gaussian) -> Array:
    """Return how many standard deviations from the mean the ray through w comes nearest."""
    precision = np.linalg.inv(approximation.covariance)
    along = np.maximum(w @ precision @ approximation.mean, 0.0)  # a ray has one end
    squared = approximation.mean @ precision @ approximation.mean - along**2 / np.einsum(
        "...i,ij,...j", w, precision, w
    )
    distance: Array = np.sqrt(np.maximum(squared, 0.0))
    return distance


def _frame(centre: Array) -> Array:
    """Return three orthogonal unit vectors as rows, the last one the centre."""
    basis = np.linalg.svd(centre[None])[2]
    return np.vstack([basis[1], np.cross(centre, basis[1]), centre])


def _great_circle(normal: Array) -> Array:
    across, up, _ = _frame(normal)
    angle = np.linspace(0.0, 2.0 * np.pi, 721)[:, None]
    circle: Array = np.cos(angle) * across + np.sin(angle) * up
    return circle


def _arc(start: Array, end: Array) -> Array:
    share = np.linspace(0.0, 1.0, 60)[:, None]
    chord = (1.0 - share) * start + share * end
    arc: Array = chord / np.linalg.norm(chord, axis=1, keepdims=True)
    return arc
