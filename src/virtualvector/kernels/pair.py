"""placeholder"""
import math
from virtualvector.kernels.compiled import compiled
@compiled
def pair_slopes(mean1, mean2, variance1, covariance, variance2, noise1, noise2, label_noise):
    return -math.inf, 0.0, 0.0, 0.0, 0.0, 0.0
