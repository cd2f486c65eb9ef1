"""Times and bandwidths of the kernels of a barotropic step."""

from __future__ import annotations

from kernels.recording import RecordingDevice


def test_shares_and_bandwidths_of_the_kernels(script, monkeypatch, capsys):
    """Rows F19 and F20: parts of the step, bytes by words, effective bandwidth and its share of the copy."""
    kernels = script("benchmarks/studies/barotropic_kernels.py")
    device = RecordingDevice()
    times = iter([6.0, 1.0, 2.0] * 4)
    monkeypatch.setattr(kernels, "select", lambda name: device)
    monkeypatch.setattr(kernels, "copy_bandwidth", lambda device: 4e12)
    monkeypatch.setattr(kernels, "microseconds", lambda device, launches: next(times))
    monkeypatch.setattr("sys.argv", ["barotropic_kernels.py", "65"])
    kernels.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "recording cuda, copy 4000 GB/s" and len(lines) == 1 + 4 * 4
    assert lines[1] == "65 single bleichrodt2011: update 67%, Poisson 33% (24, 76)"
    for line, name, words, us in zip(
        lines[2:5], ("update", "columns", "transform back"), (6, 2, 2), (6, 1, 2), strict=True
    ):
        moved = words * 4 * 65**2
        assert line.strip().startswith(name)
        assert f"{moved / 1e6:.2f} MB" in line and f"{1e-3 * moved / us:.0f} GB/s" in line
        assert line.endswith(f"{1e-3 * moved / us / 4000:6.0%}")
    assert "65 double default" in lines[13] and f"{7 * 8 * 65**2 / 1e6:.2f} MB" in lines[14]
