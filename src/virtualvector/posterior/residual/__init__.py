"""The residual r(w), by how it keeps its covariance."""
