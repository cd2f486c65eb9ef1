"""The text of docs/development/layouts.md, from the parameters that the source declares."""

from __future__ import annotations

import json

from eagre.backend.layouts import reference
from eagre.layouts import table
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.parameter import Parameter

HEAD = """\
<!-- Made by tools/make_reference.py (make reference); change the source, not this page. -->

# Layouts of GPU kernels

How kernels are cut for a card: threads of a block, registers of a thread, rows, pieces of lines, tiles, lengths of CUDA
graphs, and the sizes from which one way is faster than another. The numbers are in one table a card,
`src/eagre/layouts/<card>.json`, and nowhere else.

* A card that was measured has a stored table (NVIDIA H200). `eagre info` says which table is in use.
* Some runs take other values than the rest on a card: of a kind of model, a scheme, a precision and a class of sizes
  for which that was measured (`by_use` in the table; [below](#for-some-runs)). A run says so in its row `tuning`.
* What `eagre tune` finds on a machine comes before these, for runs like those that it timed:
  [how to tune](../how-to/tuning.md).
* Another card gets values by rule from what it has: multiprocessors, registers, shared memory, second-level cache,
  compute capability. A rule starts from the H200's value. No rule asks for more than the card has; how fast a card
  can be, only measurements tell.
* A table of your own replaces single values. `EAGRE_LAYOUTS=/path/file.json` names it, for all GPUs; without it
  `~/.local/share/eagre/layouts/<card>.json` counts (`$XDG_DATA_HOME/eagre/layouts`), with a name like
  `nvidia-geforce-rtx-4090.json`. With `"device": {"name": "NVIDIA A100"}` it counts on that card only.
  A key, type or value that is not allowed is an error.

```json
{
  "solver:tridiagonal": {"exact": {"blocks": 432}, "lines": {"warps": 4}},
  "solver:poisson": {"seams": {"threads": 128}}
}
```

Parameters of `cpu` are of kernels on a CPU: one table for all, `src/eagre/layouts/cpu.json`.

*Bit-neutral* parameters change no bit of a result, whatever their value: tune them freely. The others change how a
result is rounded.
"""

SOME_RUNS = """## For some runs

Classes of sizes are those of [tuning](../how-to/tuning.md#the-store). A run of another class, scheme or precision takes
what is above; another card too, whatever its rules. Values of your own table come first, then what `eagre tune` found.
"""


def text_of(rule_owner: Parameter) -> str:
    """The rule in words: the first line of its docstring."""
    return (rule_owner.rule.__doc__ or "").strip().splitlines()[0]


def short(value: object) -> str:
    """A value for one cell of a table."""
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= 48 else "see the file"


def page() -> str:
    """The whole page."""
    lines, section = [HEAD], ""
    values = reference()[1]
    for key, parameter in PARAMETERS.items():
        model, _, rest = key.partition(".")
        if model != section:
            section = model
            table = "all CPUs" if section == "cpu" else "H200"
            lines += [
                f"## {section}",
                "",
                f"| parameter | {table} | unit | bit-neutral | what |",
                "|---|---|---|---|---|",
            ]
        words = f"{parameter.meaning} *Allowed:* {parameter.kind.allowed}. *Another card:* {text_of(parameter)}"
        neutral = "yes" if parameter.neutral else "no"
        lines.append(f"| `{rest}` | {short(values[key])} | {parameter.unit} | {neutral} | {words} |")
        following = list(PARAMETERS)[list(PARAMETERS).index(key) + 1 :]
        if not following or following[0].partition(".")[0] != section:
            lines.append("")
    return "\n".join([*lines, *some_runs()]).rstrip() + "\n"


def some_runs() -> list[str]:
    """What stored tables have for some runs only."""
    lines = [*SOME_RUNS.splitlines(), ""]
    lines += ["| card | runs | values | measured | gain |", "|---|---|---|---|---|"]
    for name in table.stored_names():
        found = table.checked_table(table.stored(name), name)
        for entry in found.by_use:
            use, values = entry.use, ", ".join(f"`{key}` {json.dumps(one)}" for key, one in entry.values.items())
            gains = ", ".join(f"{one} at {size} x {size}" for size, one in entry.found["gains"].items())
            runs = f"{use.model}, {use.scheme or 'all schemes'}, {use.precision}, {use.size}"
            lines.append(f"| {found.device['name']} | {runs} | {values} | {entry.found['source']} | {gains} |")
    return lines
