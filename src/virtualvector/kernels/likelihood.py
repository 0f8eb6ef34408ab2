"""One labelled row as a factor of the posterior: f(u) = ε + (1−2ε)Φ(u/s).

Here u = bᵀw is the margin of the row under the weights, ε the label noise and s² the margin noise;
s = 0 is the paper's step function (eq. 3). Against a Gaussian N(u; m, v) everything depends on
z = m/√(v + s²) alone, with z, h as in eqs. 18, 19.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, inlined
from virtualvector.kernels.normal import (
    cdf,
    cdf_from_table,
    inverse_mills,
    log_cdf,
    truncated_divergence,
)
from virtualvector.types import Array

LEAST_LABEL_NOISE = 1e-300  # but for none at all: of less, the inverse overflows
_LARGEST = 1e100  # products of larger margins could overflow


@compiled
def clip_margin(z: float) -> float:
    """Keep a standardised margin where what is computed from it is finite."""
    return min(max(z, -_LARGEST), _LARGEST)


@compiled
def log_probability(z: float, label_noise: float) -> float:
    """Log Z(z), Z = ε + (1−2ε)Φ(z): the probability of the label of a row (eq. 35)."""
    if label_noise == 0.0:
        return log_cdf(z)
    if z > 0.0:
        return math.log1p(-(label_noise + (1.0 - 2.0 * label_noise) * cdf(-z)))
    return math.log(label_noise + (1.0 - 2.0 * label_noise) * cdf(z))


@compiled
def write_two_probabilities(z: float, label_noise: float, out: Array) -> None:
    """Write ε + (1−2ε)Φ(∓z): the probabilities of the labels −1 and +1."""
    out[0] = label_noise + (1.0 - 2.0 * label_noise) * cdf(-z)
    out[1] = label_noise + (1.0 - 2.0 * label_noise) * cdf(z)


@compiled
def write_probabilities(margins: Array, label_noise: float, out: Array) -> None:
    """Write the probabilities of a row's classes, given its margin under each posterior.

    Of two classes only the second has a posterior. Of several each has its own, which says p that
    it is this class. That it is this one and none of the others, as it has to be, has the
    probability p ∏(1 − p′) over the others, which is proportional to p/(1 − p).
    """
    n_classes = out.shape[0]
    if n_classes == 1:
        out[0] = 1.0
        return
    if n_classes == 2:
        write_two_probabilities(clip_margin(margins[0]), label_noise, out)
        return
    largest = -math.inf
    for k in range(n_classes):
        z = clip_margin(margins[k])
        out[k] = log_probability(z, label_noise) - log_probability(-z, label_noise)
        largest = max(largest, out[k])
    total = 0.0
    for k in range(n_classes):
        out[k] = math.exp(out[k] - largest)
        total += out[k]
    for k in range(n_classes):
        out[k] /= total


@inlined
def tilted_moments(z: float, label_noise: float) -> tuple[float, float, float]:
    """What moment matching needs: h (eq. 19), h + z and 1 − h(h+z).

    The tilted distribution is a mixture: with weight ``clean`` a Gaussian cut at zero, with the
    rest the Gaussian itself. Its moments in that form are sums of positive terms.

    Examples
    --------
    >>> h, mean, variance = tilted_moments(0.0, 0.1)
    >>> round(h, 6), round(mean, 6), round(variance, 6)
    (0.638308, 0.638308, 0.592563)
    """
    h, mean, variance = inverse_mills(z)
    if label_noise == 0.0:
        return h, mean, variance
    return _noisy_tilted_moments(z, label_noise, cdf_from_table(z), h, mean, variance)


@compiled
def _noisy_tilted_moments(
    z: float, label_noise: float, right: float, h: float, mean: float, variance: float
) -> tuple[float, float, float]:
    """The same with label noise, given Φ(z) and what it is without."""
    below = (1.0 - 2.0 * label_noise) * right
    clean = below / (label_noise + below)
    noisy = label_noise / (label_noise + below)
    return (
        clean * h,
        clean * mean + noisy * z,
        noisy + clean * variance + clean * noisy * h * h,
    )


@compiled
def _log1p_minus_identity(x: float) -> float:
    """log(1+x) − x, from its series where x is so small that much would cancel."""
    if abs(x) > 0.02:
        return math.log1p(x) - x
    low = -1.0 / 2.0 + x * (1.0 / 3.0 + x * (-1.0 / 4.0 + x * (1.0 / 5.0 - x / 6.0)))
    high = 1.0 / 7.0 + x * (-1.0 / 8.0 + x * (1.0 / 9.0 - x / 10.0))
    return x * x * (low + x * x * x * x * x * high)


@compiled
def _noisy_divergence(
    z: float, label_noise: float, right: float, wrong: float, h: float, mean: float, variance: float
) -> float:
    """D(z) with label noise, given Φ(z), Φ(−z), and what `tilted_moments` returns at z."""
    certainty = 1.0 - 2.0 * label_noise
    log_odds = math.log(label_noise / (1.0 - label_noise))
    if z >= 0.0:
        information = -math.log1p(-certainty * wrong / (1.0 - label_noise))
        information += label_noise * wrong / (label_noise + certainty * right) * log_odds
    else:
        information = -math.log1p(certainty * right / label_noise)
        information -= (1.0 - label_noise) * right / (label_noise + certainty * right) * log_odds
    lost = h * mean
    if abs(lost) < 0.5:
        return max(0.0, information + 0.5 * (_log1p_minus_identity(-lost) - h * h))
    return max(0.0, information + 0.5 * (h * z + math.log(variance)))


@compiled
def divergence(z: float, label_noise: float) -> float:
    """D(z): how far one factor is from its site (one term of eq. 13).

    D = KL(f·N(m, v)/Z ‖ moment-matched Gaussian) = E/Z − log Z + ½[hz + log(1 − h(h+z))] with
    E = ε log ε Φ(−z) + (1−ε) log(1−ε) Φ(z): eqs. 38 and 46–50 with both terms of eq. 38 kept,
    and Φ where eqs. 48 and 50 print φ. With margin noise it is the divergence over the weights
    and the noise together, an upper bound of the one over the weights: see `weight_divergence`.

    Each branch measures Z from the value that it tends to, so that a small D keeps its digits.

    Examples
    --------
    >>> round(divergence(-1.0, 0.0), 8), round(divergence(0.0, 0.0), 8)
    (0.27147411, 0.18699441)
    >>> round(divergence(-1.0, 0.1), 8)
    0.19566374
    """
    if label_noise == 0.0:
        return truncated_divergence(z)
    h, mean, variance = tilted_moments(z, label_noise)
    return _noisy_divergence(z, label_noise, cdf(z), cdf(-z), h, mean, variance)


@inlined
def weight_divergence(z: float, variance: float, margin_noise: float, label_noise: float) -> float:
    """About how far a factor is from its site, as far as the weights are concerned.

    With margin noise, `divergence` counts the noise as well as the weights: a row that says next to
    nothing would seem as precious as any. Of a tilted margin with noise, the share
    ρ(1−k)/(1−ρk) of the variance is not Gaussian, ρ = v/(v + s²), k = h(h+z); its squared skewness,
    which leads the divergence, is smaller by the cube of that. Exact without margin noise; else
    still too large, by a factor of a few instead of many orders of magnitude.

    Examples
    --------
    >>> weight_divergence(0.0, 1.0, 0.0, 0.0) == divergence(0.0, 0.0)
    True
    >>> float(f"{weight_divergence(0.0, 1.0, 19.0, 0.0):.2g}")
    1.2e-06
    """
    if label_noise > 0.0:
        return _noisy_weight_divergence(z, variance, margin_noise, label_noise, cdf(z), cdf(-z))
    _, _, tilted_variance = tilted_moments(z, 0.0)
    share = variance / (variance + margin_noise)
    tilted = share * tilted_variance
    kept = tilted / (1.0 - share + tilted)
    return truncated_divergence(z) * kept * kept * kept


@compiled
def _noisy_weight_divergence(
    z: float, variance: float, margin_noise: float, label_noise: float, right: float, wrong: float
) -> float:
    """The same with label noise, given Φ(z) and Φ(−z)."""
    h, mean, cut = inverse_mills(z)
    h, mean, cut = _noisy_tilted_moments(z, label_noise, right, h, mean, cut)
    share = variance / (variance + margin_noise)
    tilted = share * cut
    kept = tilted / (1.0 - share + tilted)
    lost = _noisy_divergence(z, label_noise, right, wrong, h, mean, cut)
    return lost * kept * kept * kept


@inlined
def expected_divergence(
    z: float, variance: float, margin_noise: float, label_noise: float
) -> float:
    """`weight_divergence`, expected over what the label was before it was maybe turned.

    A label was turned with probability p = εΦ(−z)/Z, given all else that is known; then the factor
    of the row as it was has −z. D alone is largest for rows on the wrong side: if they stayed and
    the others left, a buffer of turned labels would in the end outvote the residual. Without label
    noise it is `weight_divergence`.

    Examples
    --------
    >>> expected_divergence(-1.0, 1.0, 0.0, 0.0) == weight_divergence(-1.0, 1.0, 0.0, 0.0)
    True
    >>> [round(weight_divergence(z, 1.0, 0.0, 0.05), 4) for z in (-3.0, -2.0, 2.0, 3.0)]
    [0.0354, 0.1921, 0.0137, 0.001]
    >>> [round(expected_divergence(z, 1.0, 0.0, 0.05), 4) for z in (-3.0, -2.0, 2.0, 3.0)]
    [0.0019, 0.0684, 0.0139, 0.001]
    """
    if label_noise == 0.0:
        return weight_divergence(z, variance, margin_noise, 0.0)
    return _noisy_expected_divergence(z, variance, margin_noise, label_noise)


@compiled
def _noisy_expected_divergence(
    z: float, variance: float, margin_noise: float, label_noise: float
) -> float:
    """The same with label noise."""
    right, wrong = cdf_from_table(z), cdf_from_table(-z)
    turned = label_noise * wrong / (label_noise * wrong + (1.0 - label_noise) * right)
    as_it_is = _noisy_weight_divergence(z, variance, margin_noise, label_noise, right, wrong)
    as_it_was = _noisy_weight_divergence(-z, variance, margin_noise, label_noise, wrong, right)
    return as_it_is + turned * (as_it_was - as_it_is)


@compiled
def merged_label_noise(first: float, second: float) -> float:
    """The label noise of two equal rows as one: logit ε′ = logit ε₁ + logit ε₂.

    Without margin noise f₁f₂ takes two values, in the ratio of the product of the odds: it is a
    factor of the family, but for a constant. The odds stay within what numbers can hold.

    Examples
    --------
    >>> round(merged_label_noise(0.1, 0.1), 6), merged_label_noise(0.0, 0.2)
    (0.012195, 0.0)
    """
    both = first * second
    if both == 0.0 and first > 0.0 and second > 0.0:
        return LEAST_LABEL_NOISE
    merged = both / (both + (1.0 - first) * (1.0 - second))
    return max(merged, LEAST_LABEL_NOISE) if both > 0.0 else 0.0


@compiled
def matched_site(
    mean: float, variance: float, margin_noise: float, label_noise: float
) -> tuple[float, float, float]:
    """The site of a factor, by moment matching against its cavity N(mean, variance).

    Returns the standardised margin z of the cavity and the natural parameters of the site:
    precision τ and shift ν, for which N(u; mean, variance)·exp(νu − ½τu²) has the moments of
    N(u; mean, variance)·f(u) (eqs. 20, 21 along the margin).

    Examples
    --------
    >>> z, precision, shift = matched_site(0.5, 2.0, 0.25, 0.05)
    >>> round(z, 6), round(precision, 6), round(shift, 6)
    (0.333333, 0.380111, 0.835505)
    """
    return rematched_site(mean, variance, 0.0, 0.0, margin_noise, label_noise)


@inlined
def rematched_site(
    mean: float, variance: float, precision: float, shift: float,
    margin_noise: float, label_noise: float,
) -> tuple[float, float, float]:  # fmt: skip
    """As `matched_site`, given the margin *with* the present site of the factor.

    Dividing that out leaves the cavity N((m − νv)/r, v/r) with r = 1 − τv > 0. In these terms
    moment matching takes one square root and two divisions, which a visit of EP waits for.
    """
    room = 1.0 - precision * variance
    noise = margin_noise * room
    total = variance + noise
    inverse = 1.0 / math.sqrt(room * total)
    z = clip_margin((mean - shift * variance) * inverse)
    h, tilted_mean, tilted_variance = tilted_moments(z, label_noise)
    new_precision = room * h * tilted_mean / (variance * tilted_variance + noise)
    new_mean = total * tilted_mean - h * noise
    return z, new_precision, (new_mean * new_precision + h * room) * inverse
