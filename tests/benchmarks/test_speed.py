import numpy as np
import pytest
from scipy.stats import linregress

from compare import changes
from compare import main as compare
from speed import contestants, timing
from speed.aims import CEILING, Aim, aims, exceeds_ceiling, print_aims
from speed.figures import Figure, Report
from speed.growth import PIECE, along, exponent, exponents_in_b, exponents_in_d, steepest
from speed.limit import _matrices, _updates
from speed.packages import RIVER
from speed.pictures import apart, draw_all
from speed.problem import NOISY, SEPARABLE
from speed.readme import BEGIN, END, rewrite, section, with_section
from speed.rows import everybody
from speed.timing import Portion, side_by_side

MACHINE = {"cpu": "a processor", "cores": "2", "last-level cache": "32 MB", "python": "3.11"}


def report_of(*figures):
    return Report(MACHINE, "make bench", list(figures))


def row(name, d, ratio, **values):
    return Figure("rows", name, {"d": d}, {"µs": 2.0 * ratio, "× limit": ratio} | values)


# Timing


class Machine:
    """A clock that only work moves on, on a machine that is busy now and then."""

    def __init__(self):
        self.now, self.slowness = 0.0, 1.0

    def job(self, seconds):
        def run(n_units):
            self.now += n_units * seconds * self.slowness

        return lambda n_units: lambda: run(n_units)


@pytest.fixture
def machine(monkeypatch):
    found = Machine()
    monkeypatch.setattr(timing, "process_time", lambda: found.now)
    return found


def test_a_job_is_timed_without_its_preparation(machine):
    def job(n_units):
        machine.now += 100.0
        return machine.job(3e-6)(n_units)

    assert timing.microseconds(job, 7) == pytest.approx(3.0)


def test_as_much_is_timed_as_fits_within_bounds(machine):
    portion = Portion(seconds=1.0, least=5, most=1000)
    found = [timing.units_for(machine.job(cost), portion) for cost in (1e-6, 1 / 64, 10.0)]
    assert found == pytest.approx([1000, 64, 5], abs=1)


def test_a_machine_that_is_busy_for_a_while_does_not_change_ratios(machine):
    some = Portion(1.0, 1, 10)
    slow_for_a_while = machine.job(6e-6)
    counted = iter(range(1000))

    def job(n_units):
        machine.slowness = 4.0 if next(counted) % 20 > 10 else 1.0
        return slow_for_a_while(n_units)

    yardsticks = {"× short": machine.job(2e-6), "× long": machine.job(12e-6)}
    jobs = {"it": job, "half": machine.job(3e-6)}
    taken = side_by_side(yardsticks, jobs, 41, some, some)
    assert taken["half"]["× short"] == pytest.approx(1.5)
    assert taken["it"]["× short"] == pytest.approx(3.0)
    assert taken["it"]["× long"] == pytest.approx(0.5)
    assert 6.0 <= taken["it"]["µs"] <= 24.0


def test_the_limit_updates_matrices_in_place_from_the_start_of_cache_lines():
    matrices = _matrices(3, 7)
    before = [matrix.copy() for matrix in matrices]
    assert all(matrix.ctypes.data % 64 == 0 for matrix in matrices)
    assert not np.shares_memory(matrices[0], matrices[1])
    np.testing.assert_array_equal(before[2], np.where(np.eye(7) == 1.0, 1.0, 0.01))
    _updates(matrices)(5)()  # and one call before
    x = np.random.default_rng(0).normal(size=7)
    for matrix, start in zip(matrices, before, strict=True):
        np.testing.assert_allclose(matrix - start, 2e-12 * np.outer(x, x), atol=1e-15)


# The rows


def test_the_rule_is_the_same_in_every_piece_of_a_stream():
    rows, more = (SEPARABLE.draw(500, 5, seed) for seed in (1, 2))
    assert not np.array_equal(rows.X, more.X)
    weights = np.linalg.lstsq(rows.X, rows.signs, rcond=None)[0]
    assert np.mean(np.sign(more.X @ weights) == more.signs) > 0.95


def test_noise_turns_as_many_labels_as_it_should():
    # Margins have variance 1 given the weights' length, so the angle between margin and noisy
    # margin has cos = 1/√(1 + s²/v), and labels differ with probability angle/π.
    clean, noisy = SEPARABLE.draw(100_000, 50), NOISY.draw(100_000, 50)
    np.testing.assert_array_equal(clean.X, noisy.X)
    variance = np.sum(np.random.default_rng(50).normal(size=50) ** 2) / 50
    expected = np.arctan(np.sqrt(NOISY.margin_noise / variance)) / np.pi
    assert np.mean(clean.signs != noisy.signs) == pytest.approx(expected, abs=0.005)


def test_many_rows_in_a_call_are_what_single_rows_are():
    rows = NOISY.draw(60, 4)
    whole = contestants.engines()[3]
    learner = whole.start(NOISY, rows.part(0, 20))
    together = whole.run(whole.copy(learner), rows.part(20, 60))
    for t in range(20, 60):
        learner = whole.run(learner, rows.part(t, t + 1))
    np.testing.assert_array_equal(learner.state.mean, together.state.mean)


def test_no_two_contestants_have_the_same_name():
    names = [contestant.name for contestant in everybody()]
    assert len(set(names)) == len(names)
    assert RIVER in names


# Growth


def test_the_exponent_is_the_slope_between_logarithms():
    generator = np.random.default_rng(0)
    x = np.array([20.0, 57.0, 100.0, 500.0])
    y = 3.0 * x**1.7 * np.exp(0.1 * generator.normal(size=4))
    assert exponent(x, y) == pytest.approx(linregress(np.log(x), np.log(y)).slope)


def test_what_a_row_costs_without_points_is_no_growth():
    found = exponents_in_b({size: 5.0 + 0.01 * size**2 for size in (0, 10, 20, 50, 100)})
    assert found["in B, beyond B = 0"] == pytest.approx(2.0)
    assert found["in B, steepest"] == pytest.approx(2.0)
    assert 0.0 < found["in B"] < 2.0


def test_the_steepest_part_is_between_neighbours():
    assert steepest([1.0, 2.0, 4.0, 8.0], [5.0, 5.0, 40.0, 80.0]) == pytest.approx(3.0)


def test_small_dimensions_do_not_count_for_the_exponent():
    costs = {20: 7.0, 100: 1.0, 200: 4.0, 400: 16.0}
    figures = [Figure("rows", "limit", {"d": d}, {"µs": cost}) for d, cost in costs.items()]
    (found,) = exponents_in_d(report_of(*figures))
    assert found.values["in d"] == pytest.approx(2.0)


def test_a_stream_is_summed_up():
    costs = np.r_[np.full(100, 10.0), np.full(900, 20.0)]
    resident = np.full(1000, 2**20) + np.r_[np.zeros(500), np.full(500, 3 * 2**20)]
    figures = along("it", costs, costs / 5.0, resident)
    at_end = next(f for f in figures if f.at.get("T") == 1_000_000 and f.part == "stream")
    assert at_end.values["seconds"] == pytest.approx(1e-6 * PIECE * costs.sum())
    assert [f.at["T"] for f in figures if f.part == "stream"][:4] == [1000, 2000, 5000, 10_000]
    report = report_of(*figures)
    place = {"T": 1_000_000}
    assert report.value("flatness", "it", place, "last tenth / first") == pytest.approx(2.0)
    assert report.value("flatness", "it", place, "MB more") == pytest.approx(3.0)


def test_a_constant_cost_makes_a_stream_linear():
    figures = along("it", np.full(200, 3.0), np.ones(200), np.ones(200))
    assert figures[-1].values["in T"] == pytest.approx(1.0)


# Aims


def test_aims_are_held_or_missed(capsys):
    slow, fast = "VVM 30, merging, one row", "VVM 0 (ADF)"
    figures = [row(slow, 57, 30.0, **{"× river": 1.5}), row(fast, 57, 1.9)]
    print_aims(report_of(*figures), (57,))
    held, missed = sorted(line.split() for line in capsys.readouterr().out.splitlines()[3:])[::-1]
    assert held[:2] == ["held", "1.90"]
    assert missed[:2] == ["MISSED", "1.50"]


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "MISSED"), (1.0, "held"), (1.1, "MISSED")])
def test_a_stream_has_to_cost_the_same_all_along(ratio, verdict, capsys):
    values = {"last tenth / first": ratio}
    print_aims(report_of(Figure("flatness", "VVM 30, merging", {"T": 1_000_000}, values)), ())
    assert capsys.readouterr().out.split()[1] == verdict


def test_what_was_not_measured_is_no_aim():
    alone = report_of(row("it", 57, 30.0))
    assert Aim("rows", "it", "× limit", 1.0, {"d": 57}, "another").found(alone) is None
    assert all(aim.found(report_of()) is None for aim in aims((57, 100)))


@pytest.mark.parametrize(("ratio", "exceeded"), [(CEILING + 1, True), (CEILING - 1, False)])
def test_the_default_learner_has_a_ceiling(ratio, exceeded):
    assert exceeds_ceiling(report_of(row("VVM 30, merging", 100, ratio))) is exceeded
    assert not exceeds_ceiling(report_of())


# What is written


def test_a_report_is_read_as_it_was_written(tmp_path):
    report = report_of(row("limit", 20, 1.0))
    report.write(tmp_path / "folder" / "speed.json")
    assert Report.read(tmp_path / "folder" / "speed.json") == report


def test_changes_are_ordered_by_how_much_worse_they_are(tmp_path, capsys):
    old = report_of(row("a", 20, 1.0), row("b", 20, 2.0), row("c", 20, 4.0), row("gone", 20, 1.0))
    new = report_of(row("a", 20, 0.5), row("b", 20, 3.0), row("c", 20, 4.2))
    assert [change.what.split()[1] for change in changes(old, new)] == ["b,", "c,", "a,"]
    assert [change.ratio for change in changes(old, new)] == pytest.approx([1.5, 1.05, 0.5])

    paths = [str(tmp_path / name) for name in ("old.json", "new.json")]
    for report, path in zip((old, new), paths, strict=True):
        report.write(tmp_path / path)
    assert compare(paths) == 1
    printed = capsys.readouterr().out
    assert printed.count("WORSE") == 1
    assert "1 of 3 figures are worse by more than 10%." in printed
    assert compare([*paths, "--worse", "0.6"]) == 0


def test_what_changes_by_chance_is_not_called_worse(tmp_path, capsys):
    old, new = (
        report_of(row("ours", 20, ours), *(row(f"river, {k}", 20, other) for k in range(5)))
        for ours, other in ((1.0, 1.0), (1.3, 0.7))
    )
    paths = [str(tmp_path / name) for name in ("old.json", "new.json")]
    for report, path in zip((old, new), paths, strict=True):
        report.write(tmp_path / path)
    assert compare(paths) == 0  # 1/0.7 = 1.43 is more than 1.3
    assert "differ by up to 43%" in capsys.readouterr().out


def test_runs_that_have_nothing_in_common_are_refused(tmp_path):
    paths = [tmp_path / name for name in ("old.json", "new.json")]
    for name, path in zip("ab", paths, strict=True):
        report_of(row(name, 20, 1.0)).write(path)
    with pytest.raises(SystemExit, match="no figure in common"):
        compare([str(path) for path in paths])


def test_only_what_is_between_the_marks_is_rewritten():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = with_section(text, "new")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert with_section(once, "new") == once


@pytest.mark.parametrize("text", ["nothing", f"{BEGIN} only", f"{END} {BEGIN}"])
def test_a_readme_without_marks_is_refused(text):
    with pytest.raises(ValueError, match="speed: begin"):
        with_section(text, "new")


def test_the_section_has_a_row_for_each_learner_that_was_measured(tmp_path):
    measured = report_of(row("limit", 20, 1.0), row("limit", 57, 1.0), row(RIVER, 57, 123.4))
    lines = section(measured, "pictures").splitlines()
    assert "| limit | 2 (1) | 2 (1) |" in lines
    assert f"| {RIVER} |  | 247 (123) |" in lines
    assert not any("Vowpal" in line for line in lines)

    readme, found = tmp_path / "README.md", tmp_path / "docs" / "speed" / "speed.json"
    readme.write_text(f"{BEGIN}{END}")
    measured.write(found)
    rewrite(readme, found)
    assert "(docs/speed/cost_d.png)" in readme.read_text()


def test_labels_do_not_lie_over_each_other_nor_above_the_picture():
    heights, halves = [0.1, 0.5, 0.52, 0.97], [0.05, 0.05, 0.1, 0.1]
    moved = apart(heights, halves)
    assert moved[:2] == [0.1, 0.5]
    gaps = np.diff(moved) - np.add(halves[:-1], halves[1:])
    assert (gaps > -1e-12).all()
    assert moved[-1] + halves[-1] == pytest.approx(1.0)


def test_what_was_measured_is_drawn(tmp_path):
    figures = [row(name, d, d / 10) for name in ("limit", RIVER) for d in (20, 57, 100)]
    (path,) = draw_all(report_of(*figures), tmp_path)
    assert path.name == "cost_d.png"
    assert path.read_bytes().startswith(b"\x89PNG")
