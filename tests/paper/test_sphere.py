"""Planes that cut a sphere, and the picture of them."""

import json

import mpmath
import numpy as np
import pytest

from tests.paper.doing import do
from virtualvector import VVMClassifier
from virtualvector.paper.exact.sphere_geometry import cut_sphere
from virtualvector.paper.experiment import Options
from virtualvector.paper.mixture import Mixture
from virtualvector.paper.sphere import MOMENTS, Sphere, distance_of_ray, take_snapshots
from virtualvector.posterior import Gaussian


@pytest.fixture(scope="module")
def records():
    return do(Sphere(), Options())


@pytest.fixture(scope="module")
def summary(records):
    return Sphere().summarise(records, Options())


class TestCutSphere:
    def test_nothing_cut_is_the_whole_sphere(self):
        region = cut_sphere(np.zeros((0, 3)))
        assert region.area == pytest.approx(4.0 * np.pi)
        assert region.posterior_mean == pytest.approx(np.zeros(3), abs=1e-12)
        assert region.edges == []

    @pytest.mark.parametrize("seed", range(3))
    def test_half_a_sphere(self, seed):
        b = np.random.default_rng(seed).normal(size=3)
        region = cut_sphere([b])
        assert region.area == pytest.approx(2.0 * np.pi)
        # Half of a Gaussian along b: √(2/π).
        assert region.posterior_mean == pytest.approx(np.sqrt(2 / np.pi) * b / np.linalg.norm(b))

    @pytest.mark.parametrize("angle", [0.01, 1.0, 3.0])
    def test_a_lune_has_twice_its_angle(self, angle):
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        planes = np.array([[0.0, 1.0, 0.0], [np.sin(angle), -np.cos(angle), 0.0]])
        region = cut_sphere(planes @ turn)
        assert region.area == pytest.approx(2.0 * angle)
        assert region.edges == [0, 1]

    def test_contradicting_planes_leave_nothing(self):
        assert cut_sphere([[1.0, 0.2, 0.3], [-1.0, -0.2, -0.3]]).pieces == ()

    @pytest.mark.parametrize("seed", range(4))
    def test_area_and_mean_agree_with_rejection_sampling(self, seed):
        rng = np.random.default_rng(seed)
        centre = rng.normal(size=3)
        points = rng.normal(size=(6, 3))
        points *= np.sign(points @ centre)[:, None]
        region = cut_sphere(points)
        w = rng.normal(size=(400_000, 3))
        inside = w[np.all(w @ points.T > 0.0, axis=1)]
        share = region.area / (4.0 * np.pi)
        assert abs(len(inside) / len(w) - share) < 4.0 * np.sqrt(share / len(w))
        error = inside.std(axis=0) / np.sqrt(len(inside))
        assert np.all(np.abs(inside.mean(axis=0) - region.posterior_mean) < 4.0 * error)

    @pytest.mark.parametrize("width", [1.0, 1e-2, 1e-4])
    def test_small_triangles_keep_their_digits(self, width):
        centre = np.array([0.6, 0.48, 0.64])
        corners = centre + width * np.array([[0.3, -0.1, 0.2], [-0.2, 0.3, 0.1], [0.1, 0.2, -0.4]])
        normals = np.cross(np.roll(corners, -1, axis=0), np.roll(corners, -2, axis=0))
        normals *= np.sign(np.sum(normals * corners, axis=1))[:, None]
        with mpmath.workdps(50):
            exact = [mpmath.matrix(n.tolist()) for n in normals]
            exact = [n / mpmath.norm(n) for n in exact]
            angles = [
                mpmath.pi - mpmath.acos((exact[i].T * exact[j])[0])
                for i, j in ((0, 1), (1, 2), (2, 0))
            ]
            area = float(mpmath.fsum(angles) - mpmath.pi)
        assert cut_sphere(normals).area == pytest.approx(area, rel=1e-8)

    def test_edges_are_the_planes_that_matter(self):
        rows, signs, _ = Mixture().draw(np.random.default_rng(5))
        points = np.column_stack([rows, np.ones(len(rows))]) * signs[:, None]
        region = cut_sphere(points)
        alone = cut_sphere(points[region.edges])
        assert alone.area == pytest.approx(region.area, rel=1e-9)
        for edge in region.edges:
            others = [other for other in region.edges if other != edge]
            assert cut_sphere(points[others]).area > region.area * (1.0 + 1e-9)

    def test_the_order_and_length_of_points_do_not_matter(self):
        rng = np.random.default_rng(2)
        points = np.abs(rng.normal(size=(20, 3)))
        shuffled = rng.permutation(points) * rng.uniform(0.1, 9.0, size=(20, 1))
        for one, other in (
            (cut_sphere(points).area, cut_sphere(shuffled).area),
            (cut_sphere(points).posterior_mean, cut_sphere(shuffled).posterior_mean),
        ):
            assert one == pytest.approx(other)


def test_the_distance_of_a_ray_is_the_least_one_along_it():
    rng = np.random.default_rng(0)
    approximation = Gaussian(rng.normal(size=3), np.tril(rng.normal(size=(3, 3))))
    w = rng.normal(size=(50, 3))
    along = np.linspace(0.0, 20.0, 200_001)
    precision = np.linalg.inv(approximation.covariance)
    for direction, distance in zip(w, distance_of_ray(w, approximation), strict=True):
        away = along[:, None] * direction - approximation.mean
        squared = np.einsum("ni,ij,nj->n", away, precision, away)
        assert distance == pytest.approx(np.sqrt(squared.min()), rel=1e-3, abs=1e-3)


class TestRecords:
    def test_one_for_every_moment(self, records):
        assert [record["rows"] for record in records] == list(MOMENTS)
        assert len({tuple(record) for record in records}) == 1
        assert json.loads(json.dumps(records, allow_nan=False)) == records

    def test_the_polygon_only_ever_shrinks(self, records):
        areas = [record["area"] for record in records]
        assert areas[0] == pytest.approx(2.0 * np.pi)
        assert areas == sorted(areas, reverse=True)
        assert areas[-1] > 0.0

    def test_areas_agree_with_counting(self, records):
        w = np.random.default_rng(3).normal(size=(50_000, 3))
        for record, snapshot in zip(records, take_snapshots([0], MOMENTS), strict=True):
            share = np.mean(np.all(w @ snapshot.points.T > 0.0, axis=1))
            expected = record["share_of_sphere"]
            assert abs(share - expected) < 4.0 * np.sqrt(expected / len(w))

    def test_while_all_rows_are_kept_all_edges_are(self, records):
        for record in records:
            if record["rows"] <= 10:
                assert record["virtual_points_that_are_rows"] == record["rows"]
                assert record["edges_kept_as_virtual_points"] == record["edges"]
                assert record["area_left_by_virtual_points"] == pytest.approx(record["area"])
            assert record["virtual_points"] == min(record["rows"], 10)
            assert record["edges_kept_as_virtual_points"] <= record["edges"]

    def test_the_approximation_is_that_of_the_public_learner(self, records):
        rows, signs, _ = Mixture().draw(np.random.default_rng(np.random.SeedSequence([0])))
        model = VVMClassifier(10).partial_fit(rows, signs)
        expected = np.append(model.coef_, model.intercept_)
        last = records[-1]
        mean = np.array([last[f"mean_{k}"] for k in (1, 2, 3)])
        assert mean == pytest.approx(expected)
        assert last["length_of_approximation_mean"] == pytest.approx(np.linalg.norm(expected))
        exact = np.array([last[f"exact_{k}"] for k in (1, 2, 3)])
        cosine = exact @ mean / np.linalg.norm(exact) / np.linalg.norm(mean)
        angle = np.degrees(np.arccos(cosine))
        assert last["angle_of_means_in_degrees"] == pytest.approx(angle, rel=1e-6)

    def test_margins_and_mass_are_those_of_the_approximation(self, records):
        last, snapshot = records[-1], take_snapshots([0], MOMENTS)[-1]
        mean, covariance = snapshot.approximation.mean, snapshot.approximation.covariance
        margins = [b @ mean / np.sqrt(b @ covariance @ b) for b in snapshot.points]
        assert last["median_margin_of_rows"] == pytest.approx(np.median(margins))
        drawn = np.random.default_rng(9).multivariate_normal(mean, covariance, size=50_000)
        share = np.mean(np.all(drawn @ snapshot.points.T > 0.0, axis=1))
        assert last["mass_of_approximation_inside"] == pytest.approx(share, abs=0.015)

    def test_the_same_seed_gives_the_same_records_and_another_one_others(self, records):
        assert do(Sphere(), Options()) == records
        assert do(Sphere(), Options(seed=1))[0]["mean_1"] != records[0]["mean_1"]

    def test_the_quick_version_is_shorter(self):
        (task,) = Sphere().plan(Options(quick=True), [])
        assert len(task.arguments["moments"]) < len(MOMENTS)


def test_statements_follow_the_numbers(summary):
    first, _, kept, _ = Sphere().statements(summary)
    assert first.holds
    assert kept.holds
    outside = summary | {"smallest_margin_of_a_corner": dict.fromkeys(summary["edges"], -0.1)}
    assert not Sphere().statements(outside)[0].holds
    far = summary | {"median_margin_of_virtual_points": dict.fromkeys(summary["edges"], 99.0)}
    assert not Sphere().statements(far)[2].holds


def test_the_picture_has_a_sphere_and_a_map_for_every_moment():
    quick = Options(quick=True)
    records = do(Sphere(), quick)
    moments = [record["rows"] for record in records]
    figure = Sphere().draw(records, Sphere().summarise(records, quick))
    axes = np.array(figure.get_axes()).reshape(2, len(moments))
    titles = [ax.get_title() for ax in axes[0]]
    assert titles == [f"after {moment} row{'s' if moment > 1 else ''}" for moment in moments]
    assert all(ax.get_xlabel() == "degrees" for ax in axes[1])
    assert axes[0, 0].get_ylabel()
    assert axes[1, 0].get_ylabel()
    # The maps become larger: what they show spans fewer and fewer degrees.
    reach = [ax.get_xlim()[1] for ax in axes[1]]
    assert reach == sorted(reach, reverse=True)
    assert reach[-1] < 0.3 * reach[0]
    (legend,) = figure.legends
    assert "exact posterior" in {text.get_text() for text in legend.get_texts()}
    figure.canvas.draw()


def test_remarks_are_there(summary):
    assert all(Sphere().remarks(summary))
