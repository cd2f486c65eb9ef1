"""Animations of a field: GIF, and MP4 if ffmpeg or the package imageio-ffmpeg is installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.errors import InputError
from eagre.plots.data.fields import WET_DEPTH
from eagre.plots.drawing.frames import lay_out, saved
from eagre.plots.drawing.style import RC
from eagre.plots.maps import chosen, make_picture

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from eagre.plots.data.fields import FieldFile


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
    vectors: bool = False,
    wet_depth: float = WET_DEPTH,
    on_frame: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw the records of a field, one frame per record.

    Parameters
    ----------
    fields : FieldFile
    output : str or Path
        File name that ends in ``.gif`` or ``.mp4``.
    variable : str, optional
        Name of a stored or derived field; the default is that of `plot_map`.
    fps : float
        Frames per second, 0.01 to 100.
    every : int
        Interval between drawn records, >= 1.
    dpi : int
        Dots per inch.
    perspective : bool
        Draw a shaded 3-D view of the surface elevation.
    vectors : bool
        Draw arrows of velocity on the map.
    wet_depth : float, m
        Depth above which a cell is drawn as wet.
    on_frame : callable, optional
        Function that is called with the number of completed frames and the total number.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file extension is another one, `fps` is out of range, MP4 is requested without ffmpeg, or the file has no
        such variable or no velocity components for `vectors`.
    """
    from matplotlib import rc_context

    output = Path(output)
    if not (isinstance(fps, Real) and SLOWEST <= fps <= FASTEST):
        raise InputError(
            f"fps = {fps!r}", allowed=f"{SLOWEST:g} to {FASTEST:g}", fix="fps = 10   (on the command line: --fps 10)",
            problem="The number of frames per second is out of range: a GIF counts in hundredths of a second.",
        )  # fmt: skip
    if not (isinstance(every, int) and every >= 1):
        raise InputError(
            f"every = {every!r}", allowed="a whole number >= 1", fix="every = 1",
            problem="The interval between records must be a positive whole number.",
        )  # fmt: skip
    fields = replace(fields, wet_depth=wet_depth)
    name = chosen(fields, variable, perspective)
    records = list(range(0, fields.times.size, every))
    with rc_context(RC):
        writer = _writer(output, fps)
        picture = make_picture(fields, name, records, perspective, vectors)
        picture.draw(records[0])
        lay_out(picture.figure)
        picture.figure.set_layout_engine("none")
        with saved(output) as temporary, writer.saving(picture.figure, str(temporary), dpi):
            for done, record in enumerate(records, start=1):
                picture.draw(record)
                writer.grab_frame()
                if on_frame is not None:
                    on_frame(done, len(records))
    return output


def in_one_palette(frames: Sequence[Image], figure: Figure) -> list[Image]:
    """Return the frames in 256 colours, undithered.

    The palette has the 16 most frequent colours of the first, the middle and the last frame (background and labels),
    128 colours of the colour bars, and colours that approximate the remaining pixels, mostly land.
    """
    from matplotlib.collections import QuadMesh
    from PIL import Image

    chosen = [np.asarray(frames[k].convert("RGB")).reshape(-1, 3) for k in (0, len(frames) // 2, -1)]
    colours, counts = np.unique(np.concatenate(chosen), axis=0, return_counts=True)
    exact = [colours[np.argsort(-counts)[:16]]]
    bars = [bar for axes in figure.axes for bar in axes.collections if isinstance(bar, QuadMesh)]
    for bar in bars[:2]:
        count = 128 // len(bars[:2])
        exact.append(np.round(255.0 * bar.cmap(np.linspace(0.0, 1.0, count))[:, :3]).astype(np.uint8))
    exact = np.concatenate(exact)
    pixels = Image.fromarray(np.repeat(colours, np.sqrt(counts).astype(int), axis=0)[None])
    others = pixels.quantize(256 - len(exact), method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*exact.ravel().tolist(), *others])
    return [frame.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]


def _ffmpeg() -> str | None:
    """Return the path of ffmpeg on the PATH, else in the package imageio-ffmpeg, or None."""
    program = shutil.which("ffmpeg")
    if program is None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-not-found]

            program = get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            return None
    return program


def _writer(output: Path, fps: float) -> AbstractMovieWriter:
    """Return the writer for a file extension."""
    from matplotlib import rcParams
    from matplotlib.animation import FFMpegWriter, PillowWriter

    ending = output.suffix.lower()
    if ending == ".gif":

        class GifWriter(PillowWriter):
            """Writer with one palette for all frames, so that unchanged pixels compress well."""

            def finish(self) -> None:
                if not self._frames:  # type: ignore[attr-defined]
                    return  # an earlier error
                first, *others = in_one_palette(self._frames, self.fig)  # type: ignore[attr-defined]
                pause = int(1000 / self.fps)
                first.save(self.outfile, "GIF", save_all=True, append_images=others, duration=pause, loop=0)

        return GifWriter(fps=fps)  # type: ignore[arg-type]
    if ending == ".mp4":
        program = _ffmpeg()
        if program is None:
            raise InputError(
                f"{output.name} without ffmpeg",
                allowed=".gif, or .mp4 with ffmpeg on the PATH or from pip install 'eagre[video]'",
                fix=f"-o {output.with_suffix('.gif')}",
                problem="MP4 files require the program ffmpeg.",
            )
        rcParams["animation.ffmpeg_path"] = program  # within the rc_context of the caller
        even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-f", "mp4"]
        return FFMpegWriter(fps=fps, codec="libx264", extra_args=even)  # type: ignore[arg-type]
    fix = f"-o {output.with_suffix('.gif')}"
    raise InputError(
        output.name, allowed="a name that ends in .gif or .mp4", fix=fix,
        problem="The file extension is not an animation format.",
    )  # fmt: skip
