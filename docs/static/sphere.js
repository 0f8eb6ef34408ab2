/* Three weights, seven rows: drag the cut of a row, choose which cuts are kept exactly.

   A point (u, v) of the map is the direction (u, v, 1) of the weights; a row x allows those with xᵀw > 0.
   Rows that are not kept change a Gaussian once, in their order (ADF); over the kept ones EP goes round.
   `virtualPoints` is for the test that puts the engine beside it. */
"use strict";

const virtualPoints = (() => {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const times = (matrix, x) => matrix.map((row) => dot(row, x));
  const unit = (x) => x.map((each) => each / Math.sqrt(dot(x, x)));

  /** φ(z)/Φ(z), for any z: the exponentials of both cancel (Numerical Recipes' erfc, to 1e-7). */
  function ratio(z) {
    const t = 1 / (1 + Math.abs(z) / (2 * Math.SQRT2));
    const series = [1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
      1.48851587, -0.82215223, 0.17087277].reduceRight((sum, each) => each + t * sum, 0);
    const tail = (t / 2) * Math.exp(-1.26551223 + t * series);  // Φ(−|z|) exp(z²/2)
    const density = 1 / Math.sqrt(2 * Math.PI);
    const scale = Math.exp((-z * z) / 2);
    return z < 0 ? density / tail : (density * scale) / (1 - tail * scale);
  }

  /** Multiply by a Gaussian of the margin of x: precision and shift may be negative. */
  function changed({ mean, covariance }, x, precision, shift) {
    const along = times(covariance, x);
    const variance = dot(along, x), margin = dot(mean, x);
    const step = (shift - precision * margin) / (1 + precision * variance);
    const shrink = precision / (1 + precision * variance);
    return {
      mean: mean.map((each, i) => each + along[i] * step),
      covariance: covariance.map((row, i) => row.map((each, j) => each - shrink * along[i] * along[j])),
    };
  }

  /** The Gaussian of the margin that stands for the cut of x, next to everything else. */
  function site({ mean, covariance }, x) {
    const variance = dot(times(covariance, x), x), deviation = Math.sqrt(variance);
    const z = dot(mean, x) / deviation, r = ratio(z);
    const shrink = r * (r + z);  // the share of the variance that the cut takes
    const precision = shrink / (1 - shrink) / variance;
    return { precision, shift: r / deviation / (1 - shrink) + precision * dot(mean, x) };
  }

  /** The Gaussian that is left of rows, of which some are kept as points. */
  function learned(rows, kept) {
    let gaussian = { mean: [0, 0, 0], covariance: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
    rows.filter((_, i) => !kept[i]).forEach((x) => {
      const { precision, shift } = site(gaussian, x);
      gaussian = changed(gaussian, x, precision, shift);
    });
    const points = rows.filter((_, i) => kept[i]).map((x) => ({ x, precision: 0, shift: 0 }));
    for (let sweep = 0; sweep < 200; sweep += 1) {
      points.forEach((point) => {
        const cavity = changed(gaussian, point.x, -point.precision, -point.shift);
        Object.assign(point, site(cavity, point.x));
        gaussian = changed(cavity, point.x, point.precision, point.shift);
      });
    }
    return gaussian;
  }

  function inverse(m) {
    const minor = (i, j) => {
      const [a, b] = [0, 1, 2].filter((k) => k !== i), [c, d] = [0, 1, 2].filter((k) => k !== j);
      return (m[a][c] * m[b][d] - m[a][d] * m[b][c]) * ((i + j) % 2 ? -1 : 1);
    };
    const determinant = m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2);
    return [0, 1, 2].map((i) => [0, 1, 2].map((j) => minor(j, i) / determinant));
  }

  /** Up to a factor, the mass of a Gaussian along the ray of each direction: ∫ r² N(r·d) dr. */
  function massAlong({ mean, covariance }) {
    const precision = inverse(covariance), shift = times(precision, mean);
    return (d) => {
      const q = dot(d, times(precision, d)), t = dot(d, shift) / Math.sqrt(q);
      return ((1 + t * t) / ratio(t) + t) / q ** 1.5;
    };
  }

  const REACH = 1.1, CELLS = 160;
  const grid = Array.from({ length: CELLS }, (_, i) => (2 * (i + 0.5) / CELLS - 1) * REACH);

  /** The mean of the weights that agree with all rows, under the prior, summed over the map. */
  function exactMean(rows) {
    const sum = [0, 0, 0];
    for (const v of grid) {
      for (const u of grid) {
        const d = [u, v, 1];
        if (rows.every((x) => dot(x, d) > 0)) {
          const weight = dot(d, d) ** -2;
          d.forEach((each, i) => { sum[i] += weight * each; });
        }
      }
    }
    return sum;
  }

  const degrees = (a, b) =>
    (Math.acos(Math.min(1, dot(unit(a), unit(b)))) * 180) / Math.PI;

  /** Draw the map, and let people change it. */
  function show(root) {
    const canvas = root.querySelector("canvas"), words = root.querySelector("output");
    const choices = [...root.querySelectorAll("input")];
    const angles = [0.3, 1.2, 2.2, 2.9, 3.9, 4.8, 5.6];  // where each cut's forbidden side lies
    const distances = [0.35, 0.6, 0.5, 0.75, 0.28, 0.62, 0.8];
    const context = canvas.getContext("2d"), size = canvas.width;
    const toPixel = (u) => ((u / REACH + 1) * size) / 2;
    const rows = () => angles.map((angle, i) =>
      unit([-Math.cos(angle), -Math.sin(angle), distances[i]]));

    function shade(inside, mass) {
      const values = [];
      grid.forEach((v) => grid.forEach((u) => values.push(mass([u, v, 1]))));
      const falling = [...values].sort((a, b) => b - a), total = values.reduce((a, b) => a + b);
      const level = (share) => {
        let sum = 0;
        return falling.find((each) => { sum += each; return sum >= share * total; });
      };
      const [half, most] = [level(0.5), level(0.9)], cell = size / CELLS;
      values.forEach((value, k) => {
        const i = k % CELLS, j = Math.floor(k / CELLS);
        const fill = (colour) => {
          context.fillStyle = colour;
          context.fillRect(i * cell, j * cell, cell, cell);
        };
        if (inside([grid[i], grid[j], 1])) fill("rgb(70 140 210 / 35%)");
        if (value >= most) fill("rgb(178 24 43 / 22%)");
        if (value >= half) fill("rgb(178 24 43 / 22%)");
      });
    }

    function mark(direction, colour, cross) {
      const [x, y] = [direction[0], direction[1]].map((each) => toPixel(each / direction[2]));
      context.beginPath();
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = 4;
      if (cross) {
        [[-8, -8, 8, 8], [-8, 8, 8, -8]].forEach(([a, b, c, d]) => {
          context.moveTo(x + a, y + b);
          context.lineTo(x + c, y + d);
        });
        context.stroke();
      } else {
        context.arc(x, y, 8, 0, 7);
        context.fill();
      }
    }

    function draw() {
      const all = rows(), kept = choices.map((each) => each.checked);
      const gaussian = learned(all, kept), exact = exactMean(all);
      const ink = getComputedStyle(root).color;
      context.clearRect(0, 0, size, size);
      shade((d) => all.every((x) => dot(x, d) > 0), massAlong(gaussian));
      angles.forEach((angle, i) => {
        const [c, s] = [Math.cos(angle), Math.sin(angle)], [u, v] = [c * distances[i], s * distances[i]];
        context.beginPath();
        context.strokeStyle = kept[i] ? "#e08214" : ink;
        context.lineWidth = kept[i] ? 6 : 2;
        context.moveTo(toPixel(u - 4 * s), toPixel(v + 4 * c));
        context.lineTo(toPixel(u + 4 * s), toPixel(v - 4 * c));
        context.stroke();
        context.font = "24px sans-serif";
        context.fillStyle = ink;
        context.fillText(String(i + 1), toPixel(u + 0.05 * c) - 7, toPixel(v + 0.05 * s) + 8);
      });
      mark(exact, ink, true);
      mark(gaussian.mean, "#b2182b", false);
      const count = kept.filter(Boolean).length;
      words.textContent = `${count} of ${all.length} cuts kept: the mean of the Gaussian is `
        + `${degrees(gaussian.mean, exact).toFixed(1)}° from the exact one.`;
    }

    function place(event) {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]
        .map((each) => (2 * each - 1) * REACH);
    }
    const along = (i, [u, v]) => Math.cos(angles[i]) * u + Math.sin(angles[i]) * v;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      const at = place(event), gaps = angles.map((_, i) => Math.abs(along(i, at) - distances[i]));
      const nearest = gaps.indexOf(Math.min(...gaps));
      if (gaps[nearest] < 0.12) {
        held = nearest;
        canvas.setPointerCapture(event.pointerId);
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held === null) return;
      distances[held] = Math.min(1, Math.max(0.05, along(held, place(event))));
      draw();
    });
    ["pointerup", "pointercancel"].forEach((name) =>
      canvas.addEventListener(name, () => { held = null; }));
    choices.forEach((each) => each.addEventListener("change", draw));
    new MutationObserver(draw).observe(document.documentElement, { attributes: true });  // dark, light
    draw();
  }

  document.addEventListener("DOMContentLoaded", () =>
    document.querySelectorAll(".virtual-points").forEach(show));
  return { learned, exactMean };
})();
