"""Record the launches of all models on GPUs (no GPU is needed) and the states that the CPU computes.

Write a record before a refactoring and compare it afterwards: equal programs, arguments and launches give equal bits
and equal speed on a GPU, and equal hashes mean equal bits on this CPU.

    export PYTHONPATH=tests
    python tools/launch_record.py write before.json
    ... change ...
    python tools/launch_record.py compare before.json
    python tools/launch_record.py pin          (make record: rewrites tests/regression/states.json)
    python tools/launch_record.py pin --launches --only NAME     (an intended change of launches, not of states)

Programs are compared by `program_digest`, which ignores names; where it differs, by their PTX, which `write --ptx`
stores as well (minutes). CPU hashes hold for one kind of CPU and one set of library versions only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import HostCall
from eagre.errors import InputError
from launch_setups import larger_setups, recording
from option_setups import ALL, SETUPS
from program_digest import program_digest
from state_record import digest, machine, state_record

ROOT = Path(__file__).resolve().parents[1]
PINNED = ROOT / "tests" / "regression" / "states.json"
COUNTS = (1, 2, 3)  # recording devices

Make = Callable[[Any], Any]


def small_setups() -> dict[str, Make]:
    """Return functions of the device that make the small models of `option_setups`, by name."""
    return {f"{kind}: {name}, {precision}": partial(_build, kind, name, precision) for kind, name, precision in ALL}


def _build(kind: str, name: str, precision: str, device: Any) -> Any:
    return SETUPS[kind][name](device, precision)


def ptx_of(program: Any, arguments: tuple[Any, ...]) -> str:
    """Return the PTX of a program with its mangled names replaced by numbers."""
    from numba import typeof

    from eagre.backend.cuda.compiler import ptx

    names: dict[str, str] = {}
    text = re.sub(r"//[^\n]*", "", ptx(program, tuple(typeof(value) for value in arguments)))
    return re.sub(r"_Z\w+", lambda found: names.setdefault(found[0], f"name{len(names)}"), text)


def kind_of(argument: Any) -> str:
    """Return the type of an argument, as a kernel sees it."""
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{argument.ndim}]{'C' if argument.flags.c_contiguous else 'A'}"
    if isinstance(argument, tuple):
        return f"({', '.join(map(kind_of, argument))})"
    return type(argument).__name__


class Launches:
    """Distinct launches of a record, by their digest, and the arrays of one model."""

    def __init__(self, with_ptx: bool = False) -> None:
        self.table: dict[str, dict[str, Any]] = {}
        self._with_ptx, self._ptx = with_ptx, {}
        self._arrays: list[np.ndarray] = []
        self._labels: dict[int, int] = {}

    def events(self, logs: list[list[Any]]) -> list[list[str]]:
        """Return the events of each device of a model as strings: a word, or a launch and its arguments.

        The last event of each device is the digest of the contents of all arrays.
        """
        self._arrays, self._labels = [], {}
        device_events = [[one if isinstance(one, str) else self._launch(one) for one in log] for log in logs]
        contents = digest(*self._arrays)
        return [[*events, f"contents {contents}"] for events in device_events]

    def _launch(self, launch: Any) -> str:
        wiring = digest(repr([self._argument(one) for one in launch.arguments]))
        known = self._host_call(launch) if isinstance(launch, HostCall) else self._kernel(launch)
        key = digest(json.dumps({name: value for name, value in known.items() if name not in ("program", "ptx")}))
        self.table.setdefault(key, known)
        return f"{key} {wiring}"

    def _host_call(self, launch: Any) -> dict[str, Any]:
        kinds = digest(*map(kind_of, launch.arguments))
        return {"program": getattr(launch.program, "__name__", "library"), "text": "library", "arguments": kinds}

    def _kernel(self, launch: Any) -> dict[str, Any]:
        text, kinds = program_digest(launch.program), digest(*map(kind_of, launch.arguments))
        label = launch.program.__module__.removeprefix("eagre_program_").rpartition("_")[0]
        entry = {"program": label, "text": text, "arguments": kinds, "shape": shape_of(launch)}
        if self._with_ptx:
            key = text + kinds
            if key not in self._ptx:
                self._ptx[key] = digest(ptx_of(launch.program, launch.arguments))
            entry["ptx"] = self._ptx[key]
        return entry

    def _argument(self, value: Any) -> Any:
        """Return an array as its memory, offset and layout, a number as its value, other arguments as their type."""
        if isinstance(value, np.ndarray):
            base = value
            while isinstance(base.base, np.ndarray):
                base = base.base
            if id(base) not in self._labels:
                self._labels[id(base)] = len(self._arrays)
                self._arrays.append(base)
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            return [self._labels[id(base)], offset, value.shape, value.strides, str(value.dtype)]
        if isinstance(value, tuple):
            return [self._argument(one) for one in value]
        return repr(value) if isinstance(value, (bool, int, float, np.generic)) else type(value).__name__


def shape_of(launch: Any) -> list[Any]:
    """Return grid, block, shared memory and overlap of a launch."""
    return [list(launch.grid), list(launch.block), launch.shared, launch.early]


def logs_of(make: Make, count: int) -> list[list[Any]] | None:
    """Return the logs of recording devices over construction and two steps; None if the set-up is not supported."""
    device = recording(count)
    try:
        model = make(device)
    except InputError:
        return None
    model.steps_without_checks(2)()
    return [recorder.log for recorder in getattr(device, "devices", [device])]


def shapes_digest(logs: list[list[Any]]) -> str:
    """Return a digest of the order of programs and of launch shapes, without names, source and values."""
    numbers: dict[int, int] = {}
    events: list[Any] = []
    for one in (one for log in logs for one in ["device", *log]):
        if isinstance(one, str) or isinstance(one, HostCall):
            events.append(one if isinstance(one, str) else "library")
        else:
            events.append([numbers.setdefault(id(one.program), len(numbers)), *shape_of(one)])
    return digest(json.dumps(events))


def shapes_record(make: Make) -> dict[str, str]:
    """Return the digests of launch shapes by number of devices."""
    logs = {str(count): logs_of(make, count) for count in COUNTS}
    return {count: shapes_digest(entries) for count, entries in logs.items() if entries is not None}


def record(which: str, with_ptx: bool) -> dict[str, Any]:
    """Return the record of all set-ups whose name contains `which`."""
    launches, pinned = Launches(with_ptx), small_setups()
    content: dict[str, Any] = {"machine": machine(), "launches": launches.table, "cuda": {}, "cpu": {}}
    for name, make in (pinned | larger_setups()).items():
        if which not in name:
            continue
        for count in COUNTS:
            logs = logs_of(make, count)
            if logs is not None:
                content["cuda"][f"{name}, {count} devices"] = launches.events(logs)
        if name in pinned:
            content["cpu"][name] = state_record(make)
        print(name, file=sys.stderr, flush=True)
    return content


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the differences of two records, a line each."""
    lines = [] if old["machine"] == new["machine"] else ["machine: differs, so CPU hashes can differ"]
    for target in ("cpu", "cuda"):
        lines += [f"{name}: only in one record" for name in sorted(old[target].keys() ^ new[target].keys())]
    for name in sorted(old["cpu"].keys() & new["cpu"].keys()):
        old_entry, new_entry = old["cpu"][name], new["cpu"][name]
        lines += [f"{name}: CPU {key} differ" for key in old_entry if old_entry[key] != new_entry.get(key)]
    for name in sorted(old["cuda"].keys() & new["cuda"].keys()):
        lines += [f"{name}: {line}" for line in _changed_launches(name, old, new)]
    return lines


def _changed_launches(name: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for device, (old_events, new_events) in enumerate(zip(old["cuda"][name], new["cuda"][name], strict=True)):
        if len(old_events) != len(new_events):
            yield f"device {device}: {len(old_events)} events, now {len(new_events)}"
            continue
        wrong = [
            (n, keys)
            for n, pair in enumerate(zip(old_events, new_events, strict=True))
            if (keys := _changed(*pair, old, new))
        ]
        if wrong:
            number, keys = wrong[0]
            label = new["launches"].get(new_events[number].split()[0], {}).get("program", new_events[number])
            yield f"device {device}: {len(wrong)} events, the first is {number} ({label}): {', '.join(keys)} differ"


def _changed(one: str, other: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return what differs between two events."""
    (key, *wiring), (key_after, *wiring_after) = one.split(), other.split()
    old_launch, new_launch = old["launches"].get(key), new["launches"].get(key_after)
    if old_launch is None or new_launch is None:
        return [] if one == other else ["events"]
    source = "ptx" if "ptx" in old_launch and "ptx" in new_launch else "text"
    changed = [name for name in (source, "arguments", "shape") if old_launch.get(name) != new_launch.get(name)]
    return changed + (["wiring"] if wiring != wiring_after else [])


def _pinned(make: Make) -> dict[str, Any]:
    """Return the pinned part of the record of a set-up."""
    state = state_record(make)
    multi_device = {count: one["fields"] for count, one in state["several"].items()}
    return {
        "hashes": state["hashes"],
        "numbers": state["numbers"],
        "several": multi_device,
        "launches": shapes_record(make),
    }


def pin(which: str, only_launches: bool = False) -> None:
    """Rewrite the pinned file and print the set-ups that changed.

    which : part of the names of the set-ups to pin; only_launches : whether to keep the pinned states
    Hashes hold for one kind of machine, whose number in "machines" each set-up has.
    """
    old: dict[str, Any] = json.loads(PINNED.read_text()) if PINNED.exists() else {"setups": {}}
    machines: list[dict[str, str]] = old.get("machines", []) if which or only_launches else []
    setups: dict[str, Any] = {}
    for name, make in small_setups().items():
        pinned = old["setups"].get(name)
        if which not in name:
            setups |= {} if pinned is None else {name: pinned}
        elif only_launches and pinned is not None:
            setups[name] = {**pinned, "launches": shapes_record(make)}
        else:
            machines += [] if machine() in machines else [machine()]
            setups[name] = {"machine": machines.index(machine()), **_pinned(make)}
    names = sorted(old["setups"].keys() | setups.keys())
    changed = [name for name in names if old["setups"].get(name) != setups.get(name)]
    print("\n".join(changed) or "no set-up changed")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in setups.items())
    PINNED.parent.mkdir(exist_ok=True)
    PINNED.write_text(f'{{"machines": {json.dumps(machines)},\n"setups": {{\n{lines}\n}}}}\n')


def main() -> int:
    """Write, compare or pin a record."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("action", choices=["write", "compare", "pin"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="set-ups whose name contains this text")
    parser.add_argument("--ptx", action="store_true", help="compile every program for a GPU")
    parser.add_argument("--launches", action="store_true", help="pin the launch shapes only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.action == "pin":
        pin(options.only, options.launches)
        return 0
    if options.file is None:
        parser.error("write and compare need a file")
    new = record(options.only, options.ptx)
    if options.action == "write":
        options.file.write_text(json.dumps(new, indent=0))
        return 0
    old = json.loads(options.file.read_text())
    for target in ("cpu", "cuda"):
        old[target] = {name: one for name, one in old[target].items() if options.only in name}
    lines = differences(old, new)
    print("\n".join(lines) or f"{len(new['cpu'])} set-ups: no difference")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
