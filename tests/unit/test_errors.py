"""Messages of the exceptions: the first line is a sentence that names the problem."""

import pytest

from eagre.config.problems import ConfigError, problem_of
from eagre.errors import BlowUpError, ConvergenceError, InputError, MemoryNeededError


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("courant_number = 3.0", "The value of courant_number is not allowed."),
        ("run.end_time = -1.0 s", "The value of run.end_time is not allowed."),
        ('output[1].file = "x.txt"', "The value of output[1].file is not allowed."),
        ("gauges['a b'] = 3", "The value of gauges['a b'] is not allowed."),
    ],
)
def test_a_name_with_a_value_has_a_sentence(what, sentence):
    error = InputError(what, allowed="a number", fix="x = 1")
    assert str(error) == f"{sentence}\ngot {what}\nallowed: a number\nwrite:   x = 1"
    assert (error.what, error.allowed, error.fix, error.problem) == (what, "a number", "x = 1", sentence)


@pytest.mark.parametrize(
    "what", ["a grid of 3 points", "file.nc with x = 3", "pre, post = (0, 0)", '"a = 3"', "a == 3"]
)
def test_a_description_has_no_sentence(what):
    error = InputError(what)
    assert str(error) == f"got {what}" and error.problem == ""


def test_a_given_sentence_replaces_the_default():
    assert str(InputError("a = 3", problem="It is too large.")) == "It is too large.\ngot a = 3"


def test_a_case_file_shows_the_sentence_once():
    error = ConfigError(
        problem_of(InputError("manning = -1.0", allowed="0 or more"), ("friction", "manning")), "c.toml"
    )
    assert str(error) == (
        "c.toml: one problem\nfriction.manning\n  The value of manning is not allowed.\n"
        "  got:     manning = -1.0\n  allowed: 0 or more"
    )


def test_other_messages_begin_with_a_sentence():
    assert str(MemoryNeededError(3 * 2**30, 2**30, "a GPU")) == (
        "The model needs 3.00 GiB of memory, but a GPU has 1.00 GiB free.\n"
        'try:     a coarser grid, precision = "single", or a device with more memory'
    )
    assert str(BlowUpError(2.0, (3, 4), "a depth of nan m", "restart.nc", "a finer grid")) == (
        "The solution blew up at t = 2 s in cell (j, i) = (3, 4): a depth of nan m.\n"
        "last valid state: restart.nc\ntry:     a finer grid"
    )
    assert str(ConvergenceError(7, 0.25, 1e-6, "a larger tolerance")) == (
        "The iteration did not converge: the norm is 0.25 after 7 iterations.\n"
        "allowed: up to 1e-06\ntry:     a larger tolerance"
    )
