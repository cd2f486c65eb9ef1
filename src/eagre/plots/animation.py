"""Animations of a field: GIF always, MP4 where ffmpeg or the package imageio-ffmpeg is installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.errors import InputError
from eagre.plots.maps import chosen, make_picture
from eagre.plots.saving import saved
from eagre.plots.style import RC

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from eagre.plots.results import FieldFile


SLOWEST, FASTEST = 0.01, 100.0
"""Frames per second: a GIF stores the duration of a frame in hundredths of a second, at most 655 s."""


def animate(
    fields: FieldFile,
    output: str | Path,
    *,
    variable: str | None = None,
    fps: float = 10.0,
    every: int = 1,
    dpi: int = 100,
    perspective: bool = False,
    on_frame: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw all records of a field, one frame each.

    Parameters
    ----------
    fields : FieldFile
    output : str or Path
        Ends in ``.gif`` or ``.mp4``.
    variable : str, optional
        Without it the depth.
    fps : float
        Frames per second, 0.01 to 100.
    every : int
        Draw each `every`-th record, >= 1.
    dpi : int
        Dots per inch.
    perspective : bool
        Whether the surface is lit and in perspective.
    on_frame : callable, optional
        Called with (frames done, frames in all).

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the ending is another one, `fps` is out of range, or MP4 is asked for where there is no ffmpeg.
    """
    from matplotlib import rc_context

    output = Path(output)
    if not (isinstance(fps, Real) and SLOWEST <= fps <= FASTEST):
        raise InputError(
            f"fps = {fps!r}", allowed=f"{SLOWEST:g} to {FASTEST:g}", fix="fps = 10   (on the command line: --fps 10)",
            problem="The number of frames per second is out of range: a GIF counts in hundredths of a second.",
        )  # fmt: skip
    if not (isinstance(every, int) and every >= 1):
        raise InputError(f"every = {every!r}", allowed="a whole number >= 1", fix="every = 1")
    name = chosen(fields, variable, perspective)
    records = list(range(0, fields.times.size, every))
    with rc_context(RC):
        writer = _writer(output, fps)
        picture = make_picture(fields, name, records, perspective)
        picture.draw(records[0])
        picture.figure.draw_without_rendering()
        picture.figure.set_layout_engine("none")
        with saved(output) as place, writer.saving(picture.figure, str(place), dpi):
            for done, record in enumerate(records, start=1):
                picture.draw(record)
                writer.grab_frame()
                if on_frame is not None:
                    on_frame(done, len(records))
    return output


def in_one_palette(frames: Sequence[Image], figure: Figure) -> list[Image]:
    """The frames in 256 colours, undithered.

    The 16 most frequent of the first, the middle and the last frame are exact: paper and ink. 128 are those of the
    colour bar, and what is left suits the rest, the land.
    """
    from matplotlib.collections import QuadMesh
    from PIL import Image

    chosen = [np.asarray(frames[k].convert("RGB")).reshape(-1, 3) for k in (0, len(frames) // 2, -1)]
    colours, counts = np.unique(np.concatenate(chosen), axis=0, return_counts=True)
    own = [colours[np.argsort(-counts)[:16]]]
    bars = [bar for axes in figure.axes for bar in axes.collections if isinstance(bar, QuadMesh)]
    for bar in bars[:1]:
        own.append(np.round(255.0 * bar.cmap(np.linspace(0.0, 1.0, 128))[:, :3]).astype(np.uint8))
    own = np.concatenate(own)
    rest = Image.fromarray(np.repeat(colours, np.sqrt(counts).astype(int), axis=0)[None])
    others = rest.quantize(256 - len(own), method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*own.ravel().tolist(), *others])
    return [frame.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]


def _ffmpeg() -> str | None:
    """Path of ffmpeg: the one that is installed, else that of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-not-found]

            found = get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            return None
    return found


def _writer(output: Path, fps: float) -> AbstractMovieWriter:
    """The writer for the ending of a file name."""
    from matplotlib import rcParams
    from matplotlib.animation import FFMpegWriter, PillowWriter

    ending = output.suffix.lower()
    if ending == ".gif":

        class GifWriter(PillowWriter):
            """Frames in the colours of one palette: land that stays costs nothing after the first frame."""

            def finish(self) -> None:
                if not self._frames:  # type: ignore[attr-defined]
                    return  # it failed before
                first, *others = in_one_palette(self._frames, self.fig)  # type: ignore[attr-defined]
                pause = int(1000 / self.fps)
                first.save(self.outfile, "GIF", save_all=True, append_images=others, duration=pause, loop=0)

        return GifWriter(fps=fps)  # type: ignore[arg-type]
    if ending == ".mp4":
        program = _ffmpeg()
        if program is None:
            raise InputError(
                f"{output.name}, but the program ffmpeg is not installed",
                allowed=".gif, or .mp4 with ffmpeg on the PATH or from pip install 'eagre[video]'",
                fix=f"-o {output.with_suffix('.gif')}",
            )
        rcParams["animation.ffmpeg_path"] = program  # within the rc_context of the caller
        even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-f", "mp4"]
        return FFMpegWriter(fps=fps, codec="libx264", extra_args=even)  # type: ignore[arg-type]
    fix = f"-o {output.with_suffix('.gif')}"
    raise InputError(output.name, allowed="a name that ends in .gif or .mp4", fix=fix)
