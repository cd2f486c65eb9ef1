"""Check of what stages declare: each stage runs with NaN wherever it declares that it does not read.

Halo exchanges follow from declarations. A missing declaration could hide behind an exchange that another stage needs.
"""

from __future__ import annotations

import numpy as np

from eagre.runtime.stage import ALL

PRIVATE = ("_scratch", "_carry", "_weight", "local_particles")
"""Work arrays that a kernel fills before it reads them, and a part of another array."""


class Rank:
    """Arrays and stages of one rank of a CPU run.

    arrays : by name; stages : those of a step; low, high : first row and end of the rows that the rank computes
    """

    def __init__(self, arrays, stages, low, high):
        arrays = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
        self.arrays, self.stages, self.rows = arrays, stages, slice(low, high)
        names = {id(array): name for name, array in arrays.items()}
        self.reads = [{names[id(array)]: rows for array, rows in stage.reads} for stage in stages]
        self.writes = [{names[id(array)] for array in stage.writes} for stage in stages]
        self.declared = {name for some in (*self.reads, *self.writes) for name in some}
        self.rng = np.random.default_rng(0)
        self.start = {name: self._noisy(name, array) for name, array in arrays.items()}

    def _noisy(self, name, array):
        """Other values than the kept ones, as a stage that has run would write what is there already."""
        fields = name in self.declared and array.ndim == 2 and "particles" not in name
        factor = 1.0 + 0.1 * self.rng.random(array.shape) if fields else 1.0
        return (array * factor).astype(array.dtype)

    def wider(self, rows, array):
        """The computed rows and so many more."""
        return slice(max(0, self.rows.start - rows), min(array.shape[0], self.rows.stop + rows))

    def run(self, device, launches, k, poisoned):
        """Arrays before and after the launches of stage k."""
        for name, array in self.arrays.items():
            array[...] = self.start[name]
            if poisoned and name in self.declared:
                keep = self._kept(name, array, k)
                kept = array[keep].copy()
                array[...] = np.nan
                array[keep] = kept
        before = {name: array.copy() for name, array in self.arrays.items()}
        with np.errstate(all="ignore"):
            device.run(launches)
        return before, {name: array.copy() for name, array in self.arrays.items()}

    def _kept(self, name, array, k):
        rows = self.reads[k].get(name)
        if rows is None:
            return slice(0)
        if rows == ALL or array.ndim != 2 or array.shape[0] < self.rows.stop:
            return slice(None)
        return self.wider(rows + self.stages[k].extent, array)

    def wrong(self, device):
        """What is wrong, a line each."""
        kept = {name: array.copy() for name, array in self.arrays.items()}
        found = []
        for k, stage in enumerate(self.stages):
            if launches := list(stage.make()):
                found += [f"{stage.name}: {line}" for line in self._wrong(device, launches, k)]
        for name, array in self.arrays.items():
            array[...] = kept[name]
        return found

    def _wrong(self, device, launches, k):
        _, clean = self.run(device, launches, k, False)
        before, after = self.run(device, launches, k, True)
        for name, array in self.arrays.items():
            if name not in self.writes[k]:
                if not name.split("[")[0].endswith(PRIVATE) and not np.array_equal(
                    before[name], after[name], equal_nan=True
                ):
                    yield f"writes {name}"
                continue
            rows = self.wider(self.stages[k].extent, array) if array.shape[0] >= self.rows.stop else slice(None)
            ours, theirs, old = clean[name][rows], after[name][rows], self.start[name][rows]
            changed = (ours != old) | np.isfinite(theirs)  # a stage can leave some points alone
            if not np.array_equal(ours[changed], theirs[changed]):
                yield f"{name} depends on what is not declared"


def ranks_of(engine, steps):
    """The ranks of a barotropic engine, with the stages of one step that ``steps(subdomain)`` returns."""
    for one in engine.subdomains:
        south, north = one.fields.slab.walls
        yield Rank(one.stages.arrays, steps(one), 1 - south, one.setup.shape[0] - 1 + north), one.fields.device


def wrong_declarations(engine, steps):
    """What is wrong with the stages of a step on all ranks."""
    return [line for rank, device in ranks_of(engine, steps) for line in rank.wrong(device)]
