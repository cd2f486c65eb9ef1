"""Plans of the implicit model: what a restart keeps of them, and that they fit every card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import eagre
from adi_runs import pool
from eagre.models.shallow_water_adi.sweeps.launch_parameters import PlanState, plan_of, resumed
from kernels.recording import RecordingDevice
from unit.test_layouts import CARDS, H200

OWN = PlanState(4.4, 300, 500, 4, 40, False, 8, 16, 1)
EXACT = OWN._replace(exact_x=True, rows=8, threads=8, mode_y=2)


def chosen(*rows: PlanState, rank: int = 0, count: int = 1, own: PlanState = OWN) -> dict[str, object]:
    return resumed(np.array(rows, float), rank, count, own)


def test_a_restart_goes_on_with_the_numbers_of_the_run_that_wrote_it():
    other = OWN._replace(warps=6, overlap=44, rows=10, threads=10)
    names = ("warps", "overlap", "rows", "threads", "mode_y", "exact_x")
    for one in (other, EXACT):
        found = chosen(one)
        assert {name: getattr(one, name) for name in names} == {name: found[name] for name in names}
        assert found["exact"] == (one is EXACT)
    assert chosen(OWN, other, rank=1, count=2)["rows"] == 10


@pytest.mark.parametrize(
    ("rows", "count"),
    [((EXACT, OWN), 1), ((EXACT,), 2), ((EXACT._replace(ny=200),), 1), ((EXACT._replace(courant=4.0),), 1)],
    ids=["more devices", "fewer devices", "another grid", "a longer time step now"],
)
def test_elsewhere_pieces_stay_joined_exactly_and_nothing_else(rows, count):
    assert chosen(*rows, count=count) == {"exact": True}
    assert chosen(*(one._replace(exact_x=False, mode_y=1) for one in rows), count=count) == {}


def test_states_without_a_plan_are_read():
    assert resumed(None, 0, 1, OWN) == {} == resumed(np.zeros((1, 3)), 0, 1, OWN)


def launches(model):
    """Programs, shapes and numbers of a step of every device."""
    return [
        (launch.program, launch.grid, launch.block, launch.shared, [x for x in launch.arguments if isinstance(x, int)])
        for engine in getattr(model._engine, "engines", [model._engine])
        for launch in engine.launches(0, 0)
    ]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("shape", [{"nx": 700, "ny": 400}, {"nx": 40, "ny": 800}], ids=["large", "small"])
def test_a_restart_launches_what_the_run_did(count, shape):
    """After a watch has joined pieces exactly; and what an older version wrote is laid out anew."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    ran, on, anew = (pool([RecordingDevice() for _ in range(count)], time_step=20.0, **shape) for _ in range(3))
    before = launches(ran)
    for engine in getattr(ran._engine, "engines", [ran._engine]):
        engine.lost = lambda: 1.0
    ran._engine.check_plan()
    assert launches(ran) != before
    on._engine.step_graphs.run(0, 1)  # rounds that are bound to the launches from before
    state = ran.state()
    assert state["plan"].shape == (count, len(PlanState._fields))
    on.restore(state)
    assert launches(on) == launches(ran) and not on._engine.step_graphs.bound
    anew.restore({name: value for name, value in state.items() if name != "plan"})
    assert launches(anew) == before


def test_a_restart_on_another_card_keeps_what_changes_bits():
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    ran, on, own = (
        pool(RecordingDevice(CARDS[name]), nx=700, ny=400, time_step=20.0)
        for name in ("NVIDIA H200", "Tesla T4", "Tesla T4")
    )
    on.restore(ran.state())
    plans = [model._engine.plan for model in (ran, on, own)]
    assert plans[1].state(ran.grid) == plans[0].state(ran.grid) != plans[2].state(ran.grid)
    assert plans[1].shared_y <= CARDS["Tesla T4"].shared_block


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_sweeps_fit_every_card(card):
    device = RecordingDevice(card)
    for nx, ny in ((40, 60), (250, 300), (700, 520), (2048, 2048), (5000, 300)):
        for precision in ("single", "double"):
            for courant in (0.5, 4.4, 10.0):
                for exact in (False, True):
                    grid = eagre.Grid(nx, ny, 1.0, 1.0)
                    plan = plan_of(device, grid, precision, courant, True, False, exact)
                    (_, rows), block_x = plan.shape_x(grid)
                    _, block_y = plan.shape_y(grid)
                    assert card.fits(int(np.prod(block_x)), plan.registers[0])
                    assert card.fits(int(np.prod(block_y)), plan.registers[1], plan.shared_y + 1024)
                    assert rows * plan.run >= ny


def test_runs_fill_the_waves_of_a_card():
    """The blocks of the sweep along x fill the last wave by half or more, where there is more than one to fill."""
    for card in CARDS.values():
        for n in (1024, 2048, 3000, 4096):
            grid = eagre.Grid(n, n, 1.0, 1.0)
            plan = plan_of(RecordingDevice(card), grid, "single", 4.4, False, False)
            (windows, rows), (_, warps) = plan.shape_x(grid)
            at_once = card.multiprocessors * max(1, card.warps_for(plan.registers[0]) // warps)
            waves = windows * rows / at_once
            assert waves <= 1.0 or waves / np.ceil(waves) > 0.6 or waves > 4.0, (card.name, n, waves)


def test_few_multiprocessors_get_longer_runs():
    grid = eagre.Grid(1024, 1024, 1.0, 1.0)
    half = replace(H200, multiprocessors=66)
    devices = [RecordingDevice(card) for card in (H200, half, CARDS["Orin"])]
    runs = [plan_of(device, grid, "single", 4.4, False, False).run for device in devices]
    assert runs[0] < runs[1] and runs[0] < runs[2]
