"""Names written by the user: closest valid name, and vector names that stand for their components."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from eagre.errors import InputError

MIN_SIMILARITY = 0.6  # similarity from 0 (no common letters) to 1 (equal)
SHORTEST_END = 4  # minimum length of a name that is recognised as the end of a longer one
AXES = ("x", "y", "z")
WIND = ("u", "v", "w")


RENAMED: Mapping[str, tuple[str, ...]] = {
    "absorber": ("top_sponge", "sponge"),
    "absorbs": ("active_absorption",),
    "cfl": ("courant_number", "advective_courant_number"),
    "clustered": ("vertical_clustering",),
    "compensated": ("compensated_summation",),
    "convection": ("momentum_advection",),
    "courant": ("courant_number", "stability_number"),
    "early_exit": ("active_tiles",),
    "ground": ("terrain_height",),
    "height": ("top_height",),
    "highest_surface": ("max_surface_elevation",),
    "inside": ("internal",),
    "land": ("land_mask",),
    "layers": ("vertical_points",),
    "limit": ("max_crest_speed_ratio",),
    "lines": ("cross_sections",),
    "lowest_surface": ("min_surface_elevation",),
    "paddles": ("wavemakers",),
    "predicted_part": ("predicted_fraction",),
    "side_absorber": ("side_sponges",),
    "sides": ("boundaries",),
    **{f"sides_{axis}": (f"boundaries_{axis}",) for axis in AXES},
    "steepest": ("max_front_slope",),
    "uw_covariance": ("covariance_u_w",),
    "uw_subgrid_flux": ("subgrid_flux_u_w",),
    "viscous": ("viscosity_scheme",),
    "w_theta_covariance": ("covariance_w_theta",),
    "w_third_moment": ("third_moment_w",),
    "zones": ("relaxation_zones",),
}
"""New names of keys and fields that were renamed; the first that is valid is suggested."""


def nearest(word: object, names: Iterable[str]) -> str | None:
    """Return the name most similar to `word`, or None; case is ignored, and dashes count as underscores.

    The new name of a renamed key or field is preferred, then a name that differs from `word` only by leading words if
    it is the only such name.

    Parameters
    ----------
    word : object
        Input of the user, usually a string.
    names : iterable of str
        Valid names.
    """
    folded, written = {_folded(name): name for name in names}, _folded(str(word))
    if written not in folded and (renamed := [name for name in RENAMED.get(written, ()) if name in folded]):
        return folded[renamed[0]]
    same_end = [] if written in folded else [name for name in folded if _one_ends_the_other(name, written)]
    similar = difflib.get_close_matches(written, list(folded), n=1, cutoff=MIN_SIMILARITY)
    matches = same_end if len(same_end) == 1 else similar
    return folded[matches[0]] if matches else None


def did_you_mean(word: object, names: Iterable[str]) -> str:
    """Return ``' (did you mean "name"?)'``, or an empty string if no name is similar."""
    name = nearest(word, names)
    return f' (did you mean "{name}"?)' if name else ""


def components(name: str, known: Collection[str]) -> list[str]:
    """Return the known fields that `name` stands for: itself, the components of a vector, or none.

    The components of a vector end in ``_x``, ``_y`` and, in 3-D, ``_z``; ``"velocity"`` of the anelastic model stands
    for u, v and w.
    """
    if name in known:
        return [name]
    if name not in vectors(known):
        return []
    ended = [f"{name}_{axis}" for axis in AXES]
    return [one for one in (WIND if f"{name}_x" not in known else ended) if one in known]


def vectors(known: Collection[str]) -> list[str]:
    """Return the names of vectors whose components are in `known`."""
    names = [name[:-2] for name in known if name.endswith("_x") and f"{name[:-2]}_y" in known]
    return names + (["velocity"] if {"u", "v"} <= set(known) and "velocity" not in names else [])


def field_names(names: Sequence[str], known: Collection[str], key: str = "variables") -> list[str]:
    """Return the fields of a list without duplicates; vectors are replaced by their components.

    Parameters
    ----------
    names : sequence of str
        Names given for `key`.
    known : collection of str
        Available fields.
    key : str
        Name of the list, for the message.

    Raises
    ------
    InputError
        For unknown names; the message contains all unknown names, the available fields and a corrected list.
    """
    possible = [*known, *vectors(known)]
    if wrong := [name for name in names if not components(name, known)]:
        unknown = " and ".join(f"{json.dumps(name)}{did_you_mean(name, possible)}" for name in wrong)
        right = [name if components(name, known) else nearest(name, possible) for name in names]
        listed = list(dict.fromkeys(name for name in right if name)) or possible[:1]
        fix = f"{key} = {json.dumps(listed)}" if listed else ""
        raise InputError(
            f"{key} with {unknown}", allowed=", ".join(possible) or "none: there are none", fix=fix,
            problem=f"The list {key} contains an unknown field.",
        )  # fmt: skip
    return list(dict.fromkeys(one for name in names for one in components(name, known)))


def unknown_field(name: object, known: Collection[str]) -> InputError:
    """Return the error for a field that a model does not have, with the closest name or the components of a vector."""
    vector_components = components(str(name), known)
    near = vector_components[0] if vector_components else nearest(name, known)
    hint = f", a vector of {', '.join(vector_components)}" if vector_components else did_you_mean(name, known)
    fix, problem = f'"{near}"' if near else "", "The field does not exist."
    return InputError(f"the field {name!r}{hint}", allowed=", ".join(known), fix=fix, problem=problem)


def _one_ends_the_other(name: str, other: str) -> bool:
    """Return whether two names differ only by leading words: ``theta`` and ``minmod_theta``."""
    short, long = sorted((name, other), key=len)
    return len(short) >= SHORTEST_END and long.endswith(f"_{short}")


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")
