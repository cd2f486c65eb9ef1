"""Subdomains of grids: owners, halos, exchanges by name, host arrays; bands and blocks in 2-D and 3-D."""

from __future__ import annotations

import math

import numpy as np
import pytest

from decomposed_fields import gather, owned_cells, scatter
from eagre.backend.device import CpuDevice
from eagre.backend.group import BARRIER, Group, LocalTransport, in_sequence
from eagre.backend.select import select, select_devices
from eagre.decomposition import (
    Decomposition,
    bands,
    check_memory_of_each,
    check_thickness,
    extreme,
    total,
)
from eagre.errors import InputError, MemoryNeededError
from eagre.fields import STAGGERED

OUTSIDE = -1.0
CASES = {
    "bands": bands(14, 5, [5, 4, 5], halo=(2, 0), leading=(2, 2)),
    "periodic bands": bands(14, 5, [5, 9], halo=(2, 0), leading=(2, 2), periodic=(True, False), padded=False),
    "overlap beyond the neighbour": bands(14, 5, [5, 2, 3, 4], halo=(4, 0), leading=(1, 32), overlap=True),
    "blocks": Decomposition(((0, 4, 9), (0, 3, 6, 11)), (2, 1), (2, 3)),
    "periodic blocks": Decomposition(((0, 4, 9), (0, 5, 11)), (2, 3), (2, 3), periodic=(True, True)),
    "overlap": Decomposition(((0, 4, 9), (0, 3, 6, 11)), (2, 1), (1, 1), overlap=True, periodic=(False, True)),
    "3-D": Decomposition(((0, 3), (0, 4, 9), (0, 5, 7)), (1, 1, 2), (1, 1, 2)),
}  # fmt: skip


def whole_field(parts, location):
    """A different number in every point of a grid."""
    sizes = [n + parts._extra(axis, location) for axis, n in enumerate(parts.shape)]
    return np.arange(1.0, 1.0 + math.prod(sizes)).reshape(sizes)


def arrays_of(parts, location):
    """An array a rank, what lies outside its own points set to OUTSIDE."""
    whole, found = whole_field(parts, location), []
    for rank in range(parts.count):
        shape = [high - low + 2 * k + 9 for (low, high), k in zip(parts.held(rank), parts.leading, strict=True)]
        array = np.full(shape, OUTSIDE)
        owned_cells(parts, rank, array, location)[...] = whole[
            tuple(slice(*one) for one in parts.owned(rank, location))
        ]
        found.append(array)
    return whole, found


PLACES = [
    pytest.param(parts, location, id=f"{name}, {location}")
    for name, parts in CASES.items()
    for location in STAGGERED
    if location != "face_z" or len(parts.block_starts) == 3
]


@pytest.mark.parametrize(("parts", "location"), PLACES)
def test_an_exchange_fills_what_is_held_and_nothing_else(parts, location):
    transport = LocalTransport(Group([CpuDevice()] * parts.count))
    whole, arrays = arrays_of(parts, location)
    for rank, array in enumerate(arrays):
        transport.publish(rank, "c", array)
    transport.group.run([BARRIER, transport.exchange(parts.messages({"c": location}))])
    for rank, array in enumerate(arrays):
        start = [first for first, _ in (parts.held(rank) if parts.overlap else parts.owned(rank))]
        inside = tuple(
            slice(low - first + k, high - first + k)
            for (low, high), first, k in zip(parts.held(rank, location), start, parts.leading, strict=True)
        )
        np.testing.assert_array_equal(array[inside], scatter(parts, whole, rank, location))
        assert np.count_nonzero(array != OUTSIDE) == array[inside].size
    np.testing.assert_array_equal(
        gather(parts, [owned_cells(parts, k, array, location) for k, array in enumerate(arrays)], location), whole
    )


@pytest.mark.parametrize(("parts", "location"), PLACES)
def test_every_point_has_one_owner(parts, location):
    owners = np.zeros(whole_field(parts, location).shape, int)
    for rank in range(parts.count):
        owners[tuple(slice(*one) for one in parts.owned(rank, location))] += 1
    assert (owners == 1).all()


def test_a_lost_message_shows():
    parts = CASES["periodic blocks"]
    for lost in range(len(parts.messages({"c": "centre"}))):
        transport = LocalTransport(Group([CpuDevice()] * parts.count))
        whole, arrays = arrays_of(parts, "centre")
        for rank, array in enumerate(arrays):
            transport.publish(rank, "c", array)
        some = [one for k, one in enumerate(parts.messages({"c": "centre"})) if k != lost]
        transport.group.run([transport.exchange(some)])
        held = [scatter(parts, whole, rank).size for rank in range(parts.count)]
        assert [np.count_nonzero(array != OUTSIDE) for array in arrays] != held


def test_whole_rows_lie_in_one_piece():
    """Then a GPU copies a region by one loop over its elements."""
    parts, rows = CASES["bands"], CASES["periodic bands"]
    array = np.zeros((9, 9))
    for message in parts.messages({"c": "centre"}):
        assert array[message.here].flags.c_contiguous and array[message.there].flags.c_contiguous
    assert not array[rows.messages({"c": "centre"})[0].here].flags.c_contiguous


def test_components_stay_whole():
    parts = CASES["bands"]
    whole, arrays = arrays_of(parts, "centre")
    stacked = [np.stack([array, 2.0 * array]) for array in arrays]
    found = gather(parts, [owned_cells(parts, k, array) for k, array in enumerate(stacked)])
    np.testing.assert_array_equal(found, [whole, 2.0 * whole])
    assert parts.region(1, ((3, 5), (0, 5)))[0] is ...


def test_transfers_are_named_and_ordered():
    """By target, source, field: the same list in every process."""
    found = CASES["bands"].messages({"a": "centre", "b": "face_y"})
    assert [(t.target, t.source, t.field) for t in found] == [
        (target, source, field) for target, source in ((0, 1), (1, 0), (1, 2), (2, 1)) for field in "ab"
    ]
    assert CASES["bands"].messages({"a": "centre", "b": "face_y"}, targets=[1]) == found[2:6]


def test_stages_in_sequence():
    assert in_sequence([[1], [2]], [[3, 4], []]) == [[1, 3, 4], [2]]


def test_reductions():
    assert total([1e16, 1.0, -1e16]) == 0.0  # in the order given
    assert total([1.0, 2.0, 4.0]) == 7.0
    assert extreme([1.0, 3.0, 2.0]) == 3.0 and extreme([1.0, 3.0], min) == 1.0
    assert math.isnan(extreme([1.0, math.nan]))


def test_thin_subdomains_are_refused():
    group = select_devices(["cpu"] * 4)
    check_thickness(group, 16, 4, "rows", "4 rows or more each")
    with pytest.raises(InputError, match="up to 3 devices: 4 rows or more each"):
        check_thickness(group, 15, 4, "rows", "4 rows or more each")
    with pytest.raises(InputError, match="one device"):
        check_thickness(group, 7, 4, "rows", "4 rows or more each")


def test_memory_is_summed_by_device(monkeypatch):
    monkeypatch.setattr(CpuDevice, "free_memory", lambda _: 100)
    check_memory_of_each(Group([select("cpu"), CpuDevice()]), [60, 60])
    check_memory_of_each(select_devices("cpu,cpu"), [50, 50])
    with pytest.raises(MemoryNeededError):
        check_memory_of_each(select_devices("cpu,cpu"), [50, 51])


@pytest.mark.simulator
@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 40, 33), (3, 1, 4), (2, 34, 1)])
def test_a_kernel_turns_what_it_copies(shape):
    """Rows of the source become columns in memory, and back; of parts of larger arrays."""
    from eagre.backend.peer_copies import copy_launches
    from eagre.backend.simulated import SimulatedDevice

    nz, ny, nx = shape
    rng = np.random.default_rng(ny)
    rows = rng.standard_normal((nz, ny + 2, nx + 3)) + 1j * rng.standard_normal((nz, ny + 2, nx + 3))
    turned, again = np.zeros((nz, nx, ny + 4), complex), np.zeros_like(rows)
    some, there = rows[:, 1:-1, 3:], turned.transpose(0, 2, 1)[:, 4:]
    device = SimulatedDevice()
    device.run(copy_launches(device, [(there, some)]))
    np.testing.assert_array_equal(there, some)
    assert not turned[:, :, :4].any()
    device.run(copy_launches(device, [(again[:, 1:-1, 3:], there)]))
    np.testing.assert_array_equal(again[:, 1:-1, 3:], some)


@pytest.mark.simulator
@pytest.mark.parametrize("count", range(2, 7))
def test_a_kernel_turns_several_copies_at_once(count):
    """Of other shapes each; more than one launch has are two."""
    from eagre.backend.peer_copies import copy_launches
    from eagre.backend.simulated import SimulatedDevice

    rng, device = np.random.default_rng(count), SimulatedDevice()
    shapes = [(2, 3, 35), (1, 5, 2), (2, 1, 4), (3, 34, 1), (1, 2, 2), (2, 6, 3)][:count]
    wide = [rng.standard_normal((nz, ny + 1, nx + 1)) + 1j for nz, ny, nx in shapes]
    rows = [one[:, 1:, 1:] for one in wide]
    turned = [np.zeros((nz, nx, ny + 1), complex).transpose(0, 2, 1)[:, 1:] for nz, ny, nx in shapes]
    again = [np.zeros_like(one)[:, 1:, 1:] for one in wide]
    for targets, sources in ((turned, rows), (again, turned)):
        launches = copy_launches(device, list(zip(targets, sources, strict=True)))
        assert len(launches) == (2 if count > 4 else 1)
        device.run(launches)
        for target, source in zip(targets, sources, strict=True):
            np.testing.assert_array_equal(target, source)


@pytest.mark.simulator
@pytest.mark.parametrize("count", range(1, 11))
def test_a_kernel_copies_boxes_and_rows(count):
    from eagre.backend.peer_copies import copy_launches
    from eagre.backend.simulated import SimulatedDevice

    device, rng = SimulatedDevice(), np.random.default_rng(count)
    shapes = [(3, 2, 5), (4,), (2, 7), (1,), (3, 1, 40)]
    for strided in (True, False) if count % 4 == 0 else (True,):  # the simulator copies an array that is given twice
        pairs = []
        for k in range(count):
            shape = shapes[k % len(shapes)]
            spare = np.zeros((*shape[:-1], shape[-1] + 3 * strided))
            pairs.append((spare[..., : shape[-1]], rng.random((2, *shape))[1]))
        device.run(copy_launches(device, pairs))
        for target, source in pairs:
            np.testing.assert_array_equal(target, source)
            assert target.base is None or np.count_nonzero(target.base) <= source.size
