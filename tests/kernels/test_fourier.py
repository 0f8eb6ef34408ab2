"""Waves are numpy's cosines and sines, and have unit length whatever the phases."""

import numpy as np
import pytest

from virtualvector.kernels.fourier import write_fourier_row


def write_fourier_features(phases, scale, out):
    for some, features in zip(phases, out, strict=True):
        write_fourier_row(some, scale, features)


@pytest.mark.parametrize("largest", [1e-3, 1.0, 100.0, 1e6])
def test_features_are_cosines_and_sines(largest):
    phases = np.random.default_rng(0).uniform(-largest, largest, size=(50, 33))
    out = np.empty((50, 66))
    write_fourier_features(phases, 1.5, out)
    expected = np.hstack([np.cos(1.5 * phases), np.sin(1.5 * phases)]) / np.sqrt(33)
    np.testing.assert_allclose(out, expected, atol=1e-15 * max(1.0, largest))


def test_quarter_turns_are_in_their_places():
    phases = np.arange(-12, 13)[np.newaxis] * np.pi / 4
    out = np.empty((1, 50))
    write_fourier_features(phases, 1.0, out)
    expected = np.hstack([np.cos(phases), np.sin(phases)]) / 5
    np.testing.assert_allclose(out, expected, atol=1e-15)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e16, 1e150])
def test_any_phase_gives_unit_length(size):
    phases = size * np.random.default_rng(1).normal(size=(3, 20))
    out = np.empty((3, 40))
    write_fourier_features(phases, 1.0, out)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0)
