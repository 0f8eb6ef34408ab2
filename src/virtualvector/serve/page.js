"use strict";
// The page of vvm serve: figures as they come, by server-sent events, and a form to try a row.
// All that comes from data is set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const at = id => document.getElementById(id);
let token = sessionStorage.getItem("vvm-token");

function made(name, attributes = {}, ...children) {
  const drawn = ["svg", "path", "line", "circle", "rect", "text", "title", "g"].includes(name);
  const element = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const number = value => value == null ? "—" : value.toLocaleString("en");
const percent = share => share == null ? "—"
  : (share >= 0.01 || share === 0 ? (100 * share).toFixed(1) : (100 * share).toPrecision(2)) + "\u00a0%";
const nats = value => value == null ? "—" : value.toFixed(3);
const milliseconds = seconds => seconds == null ? "—" : number(1000 * seconds) + "\u00a0ms";

async function asked(path, body) {
  const headers = {};
  if (token) headers.Authorization = "Bearer " + token;
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(path, options);
  if (answer.status === 401) {
    at("login").hidden = false;
    at("main").hidden = true;
    at("summary").textContent = "Only those with a token may see how the model is doing.";
    throw new Error("a token is needed");
  }
  return answer;
}

function showTiles(figures) {
  const recent = figures.recent || {}, store = figures.store || {};
  const tiles = [
    ["wrong", percent(figures.error), `of ${number(figures.labels)} answers with a label; `
      + `${percent(figures.base_error)} by always saying the same`],
    ["wrong lately", percent(recent.error), `of the last ${number(recent.n_rows)} answers`],
    ["log-loss", nats(figures.log_loss), `0 is best, ${nats(figures.base_log_loss)} the shares of the classes`],
    ["calibration error", nats(figures.calibration_error), "between predicted and observed shares"],
    ["without a label", number(store.waiting), `of ${number(store.answers)} answers that are kept`],
    ["rows learned", number(figures.rows_learned), `${number(figures.labels_learned)} of them here`],
    ["experts awake", number(figures.experts_awake), `of ${number(figures.experts)}`],
    ["answers within", milliseconds(figures.latency.p50), figures.latency.p50 == null
      ? "none so far" : `half of them; 99 of 100 within ${milliseconds(figures.latency.p99)}`],
  ];
  at("tiles").replaceChildren(...tiles.map(([name, value, meaning]) => made("div", {},
    made("dt", {}, name), made("dd", { class: "value" }, value), made("dd", {}, meaning))));
}

function showSummary(figures) {
  at("summary").textContent = !figures.labels
    ? "No labels have come yet: there is nothing to measure answers by."
    : `${number(figures.labels)} answers have their label: ${percent(figures.error)} were wrong, `
      + `where always saying the same class is ${percent(figures.base_error)} wrong; log-loss `
      + `${nats(figures.log_loss)}, where the shares of the classes give ${nats(figures.base_log_loss)}.`;
  at("troubles").hidden = figures.troubles.length === 0;
  at("troubles").replaceChildren(...figures.troubles.map(each => made("li", {}, each)));
}

function axes(title, name, height, x, y) {
  const svg = made("svg", { viewBox: `0 0 480 ${height}`, role: "img", "aria-labelledby": name + "-title" },
    made("title", { id: name + "-title" }, title));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const up = height - 40 - share * (height - 60), right = 50 + share * 410;
    svg.append(made("line", { class: "grid", x1: 50, x2: 460, y1: up, y2: up }),
      made("text", { x: 44, y: up + 4, "text-anchor": "end" }, y(share)),
      made("text", { x: right, y: height - 22, "text-anchor": share === 1 ? "end" : "middle" }, x(share)));
  }
  svg.append(made("line", { class: "axis", x1: 50, x2: 460, y1: height - 40, y2: height - 40 }));
  return svg;
}

function drawCourse(figures) {
  const past = figures.past, last = past[past.length - 1][0];
  const parts = past.map(([n, wrong], k) => {
    const [before, wrongBefore] = k ? past[k - 1] : [0, 0];
    return [before, n, n > before ? (wrong - wrongBefore) / (n - before) : 0];
  });
  const merged = parts.length > 24 ? gathered(parts, Math.ceil(parts.length / 24)) : parts;
  const most = Math.max(0.02, ...merged.map(each => each[2]), ...past.map(([n, w]) => w / n));
  const x = n => 50 + 410 * n / last, y = share => 240 - 220 * share / most;
  const svg = axes("Share of wrong answers along the labels", "course", 280,
    share => number(Math.round(share * last)), share => (100 * share * most).toFixed(most < 0.1 ? 1 : 0) + " %");
  const curve = past.map(([n, wrong], k) => `${k ? "L" : "M"}${x(n).toFixed(1)} ${y(wrong / n).toFixed(1)}`);
  const steps = merged.map(([from, to, share], k) =>
    `${k ? "L" : "M"}${x(from).toFixed(1)} ${y(share).toFixed(1)}H${x(to).toFixed(1)}`);
  svg.append(made("path", { class: "steps", d: steps.join("") }), made("path", { class: "curve", d: curve.join("") }),
    made("text", { x: 460, y: 276, "text-anchor": "end" }, "labels"),
    made("text", { class: "key-curve", x: 50, y: 276 }, "so far"),
    made("text", { class: "key-steps", x: 100, y: 276 }, "in this part"));
  at("course").replaceChildren(svg);
  const recent = figures.recent;
  at("trend").textContent = `Of the last ${number(recent.n_rows)} answers ${percent(recent.error)} were wrong.`;
}

function gathered(parts, every) {
  const found = [];
  for (let k = 0; k < parts.length; k += every) {
    const some = parts.slice(k, k + every), from = some[0][0], to = some[some.length - 1][1];
    const wrong = some.reduce((sum, [a, b, share]) => sum + share * (b - a), 0);
    found.push([from, to, to > from ? wrong / (to - from) : 0]);
  }
  return found;
}

function drawReliability(figures) {
  const two = figures.classes.length === 2;
  const event = two ? `class ${[...figures.classes].sort()[1]}` : "the most probable class";
  const svg = axes(`How often came true what was given a probability: ${event}`, "reliability", 420,
    share => share.toFixed(2), share => share.toFixed(2));
  const x = share => 50 + 410 * share, y = share => 380 - 360 * share;
  svg.append(made("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
  const most = Math.max(...figures.reliability.map(bin => bin.rows));
  for (const bin of figures.reliability) {
    const words = `${number(bin.rows)} rows: ${percent(bin.predicted)} predicted, ${percent(bin.observed)} observed`;
    svg.append(made("circle", { class: "dot", cx: x(bin.predicted), cy: y(bin.observed),
      r: (3 + 9 * Math.sqrt(bin.rows / most)).toFixed(1) }, made("title", {}, words)));
  }
  svg.append(made("text", { x: 460, y: 416, "text-anchor": "end" }, `predicted probability of ${shortened(event)}`),
    made("text", { x: 50, y: 14 }, "observed"));
  at("reliability").replaceChildren(svg);
  at("calibration").textContent = `Probabilities are off by ${nats(figures.calibration_error)} on average.`;
}

const shortened = text => text.length > 34 ? text.slice(0, 33) + "…" : text;

function table(caption, heads, lines, none) {
  const head = made("thead", {}, made("tr", {}, ...heads.map((name, k) =>
    made("th", { scope: "col", ...(k ? { class: "n" } : {}) }, name))));
  const body = made("tbody", {}, ...lines.map(([first, ...cells]) => made("tr", {},
    made("th", { scope: "row" }, made("bdi", {}, first)),
    ...cells.map(cell => made("td", { class: "n" }, made("bdi", {}, cell))))));
  const found = made("table", {}, made("caption", {}, caption));
  if (lines.length) found.append(head, body);
  else found.append(made("tbody", {}, made("tr", {}, made("td", { class: "quiet" }, none))));
  return found;
}

function showTables(figures) {
  const parts = each => [each.part, number(each.n_rows), percent(each.error), nats(each.log_loss)];
  const heads = first => [first, "answers", "wrong", "log-loss"];
  at("ages").replaceChildren(table("By model age: labels learned between the answer and its label",
    heads("labels"), (figures.by_age || []).map(parts), "None yet."));
  at("delays").replaceChildren(table("By delay of the label", heads("delay"),
    (figures.by_delay || []).map(parts), "None yet."));
  at("surprises").replaceChildren(table("The latest labels that had seemed improbable", ["id", "label", "given"],
    (figures.surprises || []).map(each => [each.id, each.label, percent(each.probability)]), "None yet."));
  at("conflicts").replaceChildren(table("Labels that contradict one that was taken, for a person to decide",
    ["id", "taken", "other"], figures.conflicts.map(each => [each.id, each.label || "—", each.other]), "None."));
  at("unseen").replaceChildren(table("Categories never seen", ["column", "values"],
    Object.entries(figures.unseen).map(([name, n]) => [name, number(n)]), "None since the start."));
  const alarms = figures.alarms || [];
  at("alarms").textContent = figures.n_alarms
    ? `Drift alarms: ${number(figures.n_alarms)}; the latest after label ${number(alarms[alarms.length - 1])}.`
    : "No drift alarm: labels surprise the model no more than it expects.";
}

function show(figures) {
  at("main").hidden = false;
  showSummary(figures);
  showTiles(figures);
  showTables(figures);
  if (figures.labels) {
    drawCourse(figures);
    drawReliability(figures);
  }
  at("state").textContent = "Live: " + new Date().toLocaleTimeString();
}

async function listen() {
  for (;;) {
    try {
      const answer = await asked("/events");
      if (!answer.ok) throw new Error("status " + answer.status);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = (rest + value).split("\n\n");
        rest = events.pop();
        if (events.length) show(JSON.parse(events[events.length - 1].slice("data: ".length)));
      }
    } catch (error) {
      if (!at("login").hidden) return;
    }
    at("state").textContent = "The service does not answer; trying again …";
    await new Promise(resolve => setTimeout(resolve, 2000));
  }
}

async function showColumns() {
  const model = await (await asked("/model")).json();
  at("columns").replaceChildren(...model.columns.map((column, k) => made("div", {},
    made("label", { for: "column-" + k }, column.name),
    made("input", { id: "column-" + k, autocomplete: "off",
      inputmode: column.kind === "number" ? "decimal" : "text", placeholder: column.kind }))));
  at("row").onsubmit = event => {
    event.preventDefault();
    tryRow(model.columns);
  };
}

async function tryRow(columns) {
  const row = {};
  columns.forEach((column, k) => {
    const text = at("column-" + k).value.trim();
    const value = column.kind === "number" && text !== "" && isFinite(text) ? Number(text) : text;
    row[column.name] = text === "" ? null : value;
  });
  const answer = await asked("/predict", { row });
  const reply = await answer.json();
  if (!answer.ok) {
    at("answer").replaceChildren(made("p", { class: "wrong" }, reply.error));
    return;
  }
  const classes = Object.entries(reply.probabilities).sort((a, b) => b[1] - a[1]);
  const bars = classes.slice(0, 12).flatMap(([name, share]) => [
    made("span", {}, made("bdi", {}, name)),
    made("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
      made("rect", { width: 100 * share, height: 1 })),
    made("span", { class: "n" }, percent(share)),
  ]);
  const first = made("p", {}, "The model thinks ", made("strong", {}, made("bdi", {}, reply.label)),
    `, and is ${sure(classes[0][1], classes.length)} (id ${reply.id}).`);
  at("answer").replaceChildren(first, made("div", { class: "bars" }, ...bars));
}

function sure(share, nClasses) {
  const words = [[0.99, "all but certain"], [0.9, "quite sure"], [0.7, "fairly sure"], [1.2 / nClasses, "in doubt"]];
  const found = words.find(([least]) => share >= least);
  return found ? found[1] : "hardly able to tell";
}

at("login").onsubmit = event => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("vvm-token", token);
  at("login").hidden = true;
  begin();
};

function begin() {
  showColumns().catch(() => {});
  listen();
}

begin();
