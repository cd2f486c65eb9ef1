"""Record what three models launch, on a GPU (without one) and on a CPU, and which bits the CPU computes.

Write a record before a change and compare it after: equal programs and equal launches mean equal bits and equal
speed on a GPU, and equal hashes mean equal bits on this CPU.

    python tools/launch_record.py write before.json
    ... change ...
    python tools/launch_record.py compare before.json

A program counts by its text, without the places of modules; where texts differ, by its PTX, which `write --ptx` keeps
beside the text (minutes). Hashes of CPU states hold on one machine and one set of library versions only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import HostCall
from launch_setups import RecordingDevice, setups


def digest(*parts: Any) -> str:
    """A short hash of arrays and texts."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    return whole.hexdigest()[:16]


def text_of(program: Any) -> str:
    """Source of a program without its header line and the places of modules."""
    module = sys.modules[getattr(program, "py_func", program).__module__]
    text = Path(str(module.__file__)).read_text().split('"""\n\n', 1)[1]
    return re.sub(r"importlib\.import_module\('[\w.]+'\)(\.\w+)  #[^\n]*", r"module\1", text)


def ptx_of(program: Any, signature: tuple[Any, ...]) -> str:
    """PTX of a program with its mangled names replaced by numbers."""
    from eagre.backend.cuda.compiler import ptx

    names: dict[str, str] = {}
    text = re.sub(r"//[^\n]*", "", ptx(program, signature))
    return re.sub(r"_Z\w+", lambda found: names.setdefault(found[0], f"name{len(names)}"), text)


def kind_of(argument: Any) -> str:
    """Type of an argument, as a kernel sees it."""
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{argument.ndim}]{'C' if argument.flags.c_contiguous else 'A'}"
    if isinstance(argument, tuple):
        return f"({', '.join(map(kind_of, argument))})"
    return type(argument).__name__


def launch_of(launch: Any, with_ptx: bool, known: dict[str, str]) -> dict[str, Any]:
    """One launch as a record."""
    if isinstance(launch, HostCall):
        return {"program": f"library {getattr(launch.program, '__name__', launch.program)}"}
    text, kinds = digest(text_of(launch.program)), [kind_of(argument) for argument in launch.arguments]
    found = {
        "program": launch.program.__module__.removeprefix("eagre_program_").rpartition("_")[0],
        "text": text,
        "arguments": digest(*kinds),
        "shape": [list(launch.grid), list(launch.block), launch.shared, launch.early],
    }
    if with_ptx:
        from numba import typeof

        key = text + found["arguments"]
        if key not in known:
            known[key] = digest(ptx_of(launch.program, tuple(typeof(value) for value in launch.arguments)))
        found["ptx"] = known[key]
    return found


def launches_of_step(model: Any) -> list[Any]:
    """The launches of a step of one model, or of two that alternate."""
    engine = model._engine
    if model.kind == "shallow-water":
        return list(engine.schedule.launches)
    if model.kind == "shallow-water-adi":
        return [*engine.launches(0, 0), *engine.launches(1, 2)]
    return [*engine.launches[0], *engine.launches[1]]


def state_hash(model: Any) -> str:
    """Hash of everything that a restart needs."""
    state = model.state()
    return digest(*(part for name in sorted(state) for part in (name, state[name])))


def cpu_record(make: Callable[..., Any]) -> dict[str, Any]:
    """Hashes of a state after 6 steps, and of the same through a restart after 3."""
    whole, cut, on = make("cpu"), make("cpu"), make("cpu")
    far = 1e4 if whole.kind == "shallow-water" else 1e4 * whole.time_step
    whole.advance(far, max_steps=6)
    cut.advance(far, max_steps=3)
    on.restore(cut.state())
    on.advance(far, max_steps=3)
    names = sorted(whole.variables)
    fields = [digest(*(model.field(name) for name in names)) for model in (whole, on)]
    return {"state": state_hash(whole), "fields": fields[0], "restarted": fields[1]}


def record(which: str, with_ptx: bool) -> dict[str, Any]:
    """The record of all set-ups whose name contains `which`."""
    found: dict[str, Any] = {}
    known: dict[str, str] = {}
    for name, make in setups().items():
        if which not in name:
            continue
        gpu = launches_of_step(make(RecordingDevice()))
        found[name] = {"cuda": [launch_of(one, with_ptx, known) for one in gpu], "cpu": cpu_record(make)}
        print(f"{name}: {len(gpu)} launches", file=sys.stderr, flush=True)
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two records, a line each."""
    lines = [f"{name}: only in one record" for name in sorted(old.keys() ^ new.keys())]
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        lines += [f"{name}: CPU {key} differs" for key in before["cpu"] if before["cpu"][key] != after["cpu"][key]]
        if len(before["cuda"]) != len(after["cuda"]):
            counts = f"{len(before['cuda'])} launches, now {len(after['cuda'])}"
            lines.append(f"{name}: {counts}: {[one['program'] for one in after['cuda']]}")
            continue
        for number, (one, other) in enumerate(zip(before["cuda"], after["cuda"], strict=True)):
            alike = "ptx" if "ptx" in one and "ptx" in other else "text"
            wrong = [key for key in (alike, "arguments", "shape") if one.get(key) != other.get(key)]
            if wrong:
                lines.append(f"{name}: launch {number} ({other['program']}): {', '.join(wrong)} differ")
    return lines


def main() -> int:
    """Write or compare a record."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="set-ups whose name contains this")
    parser.add_argument("--ptx", action="store_true", help="compile every program for a GPU")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    new = record(options.only, options.ptx)
    if options.action == "write":
        options.file.write_text(json.dumps(new, indent=1))
        return 0
    old = {name: one for name, one in json.loads(options.file.read_text()).items() if options.only in name}
    lines = differences(old, new)
    print("\n".join(lines) or f"{len(new)} set-ups: no difference")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
