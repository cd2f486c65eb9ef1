"""Searches on a machine that others use: what disturbs some runs does not decide which choice is taken."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend import layouts
from eagre.layouts.store import Origin, Use
from eagre.tuning import session
from eagre.tuning.space import Axis, DeviceInfo, Space, always, identity
from eagre.tuning.timings import Journal, doubt, lower_bound, relative, surely

H200, SHIPPED = layouts.reference()
ROWS = Axis("rows", ("shallow-water.march.longest", "shallow-water.march.shortest"), always(8, 16, 32, 128))
THREADS = Axis("threads", ("shallow-water.boundary.threads",), always(32, 128, 256, 512, 1024))
SPACE = Space("a space", "shallow-water", "rk2", (ROWS, THREADS))


class Disturbed:
    """A machine with a clock of its own: runs have noise, single ones are hit, and for a while all take longer."""

    info, precision, shipped = DeviceInfo("cuda", H200, 0), "single", SHIPPED

    def __init__(self, rng, seconds, noise=0.002, hits=0.0, begins=0.0, lasts=(3, 25)):
        self.rng, self.seconds, self.noise, self.hits, self.begins, self.lasts = (
            rng,
            seconds,
            noise,
            hits,
            begins,
            lasts,
        )
        self.runs, self.left, self.level = 0, 0, 1.0

    def compile(self, variants):
        pass

    def verify(self, values):
        return True

    def clock(self, values):
        def run():
            self.runs += 1
            if self.left:
                self.left -= 1
            elif self.rng.random() < self.begins:
                self.left, self.level = int(self.rng.integers(*self.lasts)), 1.0 + self.rng.uniform(0.05, 0.3)
            slow = self.level if self.left else 1.0
            if self.rng.random() < self.hits:
                slow *= 1.0 + self.rng.uniform(0.05, 0.4)
            return self.seconds[identity(values)] * slow * (1.0 + self.noise * self.rng.standard_normal())

        return run


def journal(path=None):
    use, origin = Use("shallow-water", "", "single", "memory"), Origin("a card", "1", "2", "3")
    return Journal(path, SPACE.name, use, origin, (64, 64))


def searched(seed, shipped=1.08, **disturbed):
    """A search among thirty choices up to 15 % apart; by how much its pick is from the best, and the machine."""
    rng = np.random.default_rng(seed)
    made = [SPACE.values(one, SHIPPED, "single") for one in SPACE.choices(SHIPPED, Disturbed.info, "single")]
    seconds = {identity(values): 1e-3 * (1.0 + 0.15 * rng.random()) for values in made}
    seconds[identity({})] = 1e-3 * shipped
    machine = Disturbed(rng, seconds, **disturbed)
    found = session.tune(SPACE, machine, journal())
    return seconds[identity(found.values)] / min(seconds.values()) - 1.0, found, machine


@pytest.mark.parametrize(
    "disturbed",
    [{}, {"hits": 0.05, "begins": 0.02}, {"begins": 0.05, "lasts": (10, 60)}, {"hits": 0.1}],
    ids=["quiet", "both", "for a while", "single runs"],
)
def test_a_pick_is_the_best_whatever_disturbs_its_trial(disturbed):
    """Within 1 %, where trials by themselves are up to 40 % off. Before, one search of six lost more than that."""
    off = [searched(seed, **disturbed)[0] for seed in range(40)]
    assert max(off) < 0.01 and np.mean(off) < 0.001


def test_a_search_does_not_take_much_longer_for_it():
    """Runs of a search among thirty choices: hopeless ones take two of five, few are timed again."""
    assert np.mean([searched(seed)[2].runs for seed in range(20)]) < 250
    assert np.mean([searched(seed, hits=0.05, begins=0.02)[2].runs for seed in range(20)]) < 400


def test_shipped_values_stay_where_nothing_is_faster():
    for seed in range(20):
        _, found, _ = searched(seed, shipped=1.0, hits=0.05, begins=0.02)
        assert found.values == {} and found.gain == 0.0
        assert found.shipped_seconds == pytest.approx(1e-3, rel=0.02)  # of its quietest runs


def test_how_far_a_pick_is_from_the_best_is_told_by_what_was_timed_in_turn():
    """Not by trials, of which the best may have met a quiet moment."""
    for seed in range(20):
        _, found, _ = searched(seed, hits=0.05, begins=0.02)
        again = [one for one in found.trials if one.again]
        assert again and 0.0 <= found.apart < 0.01
        parts = {identity(one.values): relative(one.again, one.again_beside, "cuda") for one in again}
        assert found.tuned_seconds / found.shipped_seconds == pytest.approx(parts[identity(found.values)])
        assert found.apart == pytest.approx(parts[identity(found.values)] / min(parts.values()) - 1.0)


def test_what_was_disturbed_is_timed_again():
    """A trial of which most runs were: four of five took a third longer."""
    seconds = {identity(SPACE.values(one, SHIPPED, "single")): 1e-3 for one in ({}, *({"rows": n} for n in (8, 16)))}
    space = Space("a space", "shallow-water", "rk2", (Axis("rows", ROWS.paths, always(8, 16)),))
    fast = identity(space.values({"rows": 16}, SHIPPED, "single"))
    seconds[fast] = 0.9e-3

    class Slow(Disturbed):
        hit = iter([1.3, 1.3, 1.3, 1.3, 1.0])

        def clock(self, values):
            inner, mine = super().clock(values), identity(values) == fast
            return lambda: inner() * (next(self.hit, 1.0) if mine else 1.0)

    found = session.tune(space, Slow(np.random.default_rng(1), seconds), journal())
    assert found.best == {"rows": 16}
    (one,) = [trial for trial in found.trials if trial.again]
    assert relative(one.seconds, one.beside, "cuda") > 1.1 and lower_bound(one.seconds, one.beside) < 0.92


def test_what_was_timed_again_is_kept(tmp_path):
    """A search that has ended runs nothing when it is asked for again, and finds the same."""
    rng = np.random.default_rng(3)
    made = [SPACE.values(one, SHIPPED, "single") for one in SPACE.choices(SHIPPED, Disturbed.info, "single")]
    seconds = {identity(values): 1e-3 * (1.0 + 0.15 * rng.random()) for values in made}
    path = tmp_path / "one.jsonl"
    first = session.tune(SPACE, Disturbed(rng, seconds), journal(path))
    machine = Disturbed(rng, seconds)
    again = session.tune(SPACE, machine, journal(path))
    assert machine.runs == 0 and again.values == first.values
    assert (again.shipped_seconds, again.tuned_seconds) == (first.shipped_seconds, first.tuned_seconds)


def test_what_fails_when_it_is_timed_again_is_passed_over():
    """And noted: the next best takes its turn."""
    seconds = {
        identity(SPACE.values(one, SHIPPED, "single")): 1e-3 for one in ({}, *({"rows": n} for n in (8, 16, 32)))
    }
    best, next_best = (identity(SPACE.values({"rows": n}, SHIPPED, "single")) for n in (16, 32))
    seconds[best], seconds[next_best] = 0.8e-3, 0.9e-3
    asked = []

    class Breaks(Disturbed):
        def clock(self, values):
            asked.append(identity(values))
            if asked.count(best) == 2 and asked[-1] == best:
                raise RuntimeError("too many resources requested")
            return super().clock(values)

    space = Space("a space", "shallow-water", "rk2", (Axis("rows", ROWS.paths, always(8, 16, 32)),))
    found = session.tune(space, Breaks(np.random.default_rng(1), seconds), journal())
    assert found.best == {"rows": 32} and [one.choice for one in found.trials if one.failed] == [{"rows": 16}]


def test_time_relative_to_what_ran_in_turn():
    """A disturbance of both cancels; where it begins or ends one ratio is off, upwards or downwards."""
    assert relative([2.0, 2.2, 2.2, 2.0, 2.0], [1.0, 1.0, 1.1, 1.1, 1.0], "cuda") == pytest.approx(2.0)
    assert relative([2.0, 3.0], [1.0, 1.0], "cuda") == 2.5 and relative([2.0], [], "cuda") == 1.0
    assert relative([2.2, 2.0], [1.0, 1.25], "cpu") == 2.0
    assert lower_bound([1.3, 1.3, 1.3, 1.3, 1.0], [1.0] * 5) == 1.0
    squares = [float(n * n) for n in range(1, 13)]  # of which the middle half are those of 4 to 9
    assert relative(squares[::-1], [1.0] * 12, "cuda") == pytest.approx((16 + 25 + 36 + 49 + 64 + 81) / 6)


def test_the_deviation_of_a_run_by_hand():
    """Pooled over trials, each about its own mean with a freedom less than runs; of few runs nothing is known."""
    runs = [[0.9, 1.0, 1.1], [9.0, 10.0, 11.0]]
    assert session.spread(4 * runs) == pytest.approx(0.1) and np.isinf(session.spread(3 * runs))


def test_the_doubt_of_a_mean_of_the_middle_half(rng):
    """As many means of normal noise are apart; a spike adds little, two that alternate a lot."""
    ones, noise = [1.0] * 12, 1.0 + 0.01 * rng.standard_normal((4000, 12))
    means = [relative(list(one), ones, "cuda") for one in noise]
    found = [doubt(list(one), ones) for one in noise]
    assert np.std(means) == pytest.approx(np.sqrt(np.mean(np.square(found))), rel=0.1)
    spiked = noise.copy()
    spiked[:, 3] *= 2.0
    assert np.mean([doubt(list(one), ones) for one in spiked]) < 1.3 * np.mean(found)
    assert doubt([0.9, 1.1] * 6, ones) > 0.05 and np.isinf(doubt([1.0] * 3, [1.0] * 3))


def test_on_a_cpu_the_best_of_few_runs_may_be_a_chance():
    """What is taken is faster by its middle half as well."""
    assert surely([1.0, 1.0, 0.9, 1.0], [1.0] * 4, "cpu") == 1.0 > relative([1.0, 1.0, 0.9, 1.0], [1.0] * 4, "cpu")
    assert surely([0.8, 0.8, 0.9, 0.7], [1.0, 1.0, 1.0, 0.7], "cpu") == 1.0
    assert surely([1.0, 1.0, 0.9, 1.0], [1.0] * 4, "cuda") == relative([1.0, 1.0, 0.9, 1.0], [1.0] * 4, "cuda")
