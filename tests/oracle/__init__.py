"""Slow, plain transcriptions of the models' specifications, used by the tests as references."""
