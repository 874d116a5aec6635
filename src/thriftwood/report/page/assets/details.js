// What the chosen point comes to: cards, bills, groups, trees.

const MOST_ALONE = 12; // features without a group that have a line of their own

function drawCards(point) {
  const { before, curve } = page;
  const after = point.details;
  const cards = [
    card(`Mean bill of ${aNoun()}`, amount(after.cost), `was ${amount(before.cost)}`, page.unit),
    card(`Saved per ${page.noun}`, amount(rounded(before.cost - after.cost)), less(before.cost, after.cost) || "nothing to save", page.unit),
  ];
  if (page.score) cards.push(scoreCard(curve.validation ?? curve.training, point.place));
  if (curve.validation && hasErrors()) cards.push(errorCard("the validation set", curve.validation, point.place));
  const isCrowded = page.score && curve.validation; // and these are the better judges
  if (curve.training && hasErrors() && !isCrowded) cards.push(errorCard(prunedOn(), curve.training, point.place, page.words.caution));
  if (!curve.training) cards.push(card(capital(page.words.loss), amount(curve.loss[point.place]), `was ${amount(curve.loss[0])}`));
  cards.push(
    card("Features asked for", whole(after.n_features), `was ${whole(before.n_features)}, of ${whole(page.features.length)}`),
  );
  if (after.n_splits !== null) cards.push(card("Splits", whole(after.n_splits), `was ${whole(before.n_splits)}`));
  refill("cards", ...cards);
}

function card(name, figure, note, small = "") {
  return element(
    "div",
    { class: "card" },
    element("dt", {}, name),
    element("dd", { class: "figure" }, figure, small ? " " : "", small ? element("small", {}, small) : ""),
    element("dd", { class: "note-line" }, note),
  );
}

function scoreCard({ score }, i) {
  const where = page.curve.validation ? "the validation set" : prunedOn();
  const note = `± ${scoreAmount(score.spread[i])} (one standard error), was ${scoreAmount(score.value[0])}`;
  return card(`${capital(page.score.name)} on ${where}`, scoreAmount(score.value[i]), note);
}

function errorCard(where, measured, i, caution = "") {
  const name = page.error === "share" ? `Wrong on ${where}` : `Squared error on ${where}`;
  const spread = caution ? "" : `± ${spreadWords(measured.spread[i])} (one standard error), `;
  return card(name, errorWords(measured.error[i]), `${spread}was ${errorWords(measured.error[0])}${caution}`);
}

function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function drawBills(point) {
  const width = Math.max(260, byId("bills").clientWidth);
  const height = 220;
  const { edges } = page;
  const before = shares(page.before.bills);
  const after = shares(point.details.bills);
  const high = Math.max(...before, ...after);
  const margin = { left: roomFor(0, high, percentTick), right: 8, top: 24, bottom: 44 };
  const x = scale(edges[0], edges[edges.length - 1], margin.left, width - margin.right);
  const y = scale(0, high, height - margin.bottom, margin.top);
  const drawing = frame(width, height, margin, x, y, {
    x: `bill of ${aNoun()}${unitInBrackets()}`,
    y: `share of ${page.nouns}`,
    label: `How many ${page.nouns} pay how much, ${page.words.before} and at this point.`,
    xTicks: ticks(edges[0], edges[edges.length - 1], 5),
    yTick: percentTick,
  });
  pairedBars(drawing, edges.slice(0, -1).map(x), x(edges[1]) - x(edges[0]) - 1, y, before, after);
  refill("bills", drawing);
  barLegend("bills-legend", page.words.before, "at this point");
  drawQuantiles(point);
}

function shares(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => count / total);
}

function drawQuantiles(point) {
  const names = [...[10, 50, 90].map((share) => `${share} % of ${page.nouns} pay up to`), "mean"];
  const [before, after] = [page.before, point.details].map((one) => [...one.quantiles, one.cost]);
  const write = columnAmount([...before, ...after]);
  refill(
    "quantiles",
    tableHead([shortUnit() || "Bill", page.words.was, page.words.is]),
    element("tbody", {}, ...names.map((name, i) => tableRow([name, write(before[i]), write(after[i])]))),
  );
  byId("bills-hint").textContent = modelCostWords(point, " The mean includes it.");
}

// What is paid once for the model is no part of what single ones pay.
function modelCostWords(point, more) {
  const [before, after] = [page.before.model_cost, point.details.model_cost];
  if (before === 0) return "";
  return `Without what is paid once for the model: ${amount(before)} ${aNoun()} ${page.words.before}, ${amount(after)} at this point.${more}`;
}

// The mean bill in parts; parts that are 0 before and after are left out, and all if there is one.
function drawLines(point) {
  const write = columnAmount([page.before.cost, point.details.cost]);
  const rows = page.lines
    .map((name, i) => [name, page.before.by_line[i], point.details.by_line[i]])
    .flatMap((line, i) => (i === page.rest_line ? withoutGroup(point, line) : [line]))
    .filter(([, before, after]) => before !== 0 || after !== 0)
    .map(([name, before, after]) => spendingRow(name, before, after, write));
  byId("lines-panel").hidden = rows.length < 2;
  refill(
    "lines",
    tableHead([`${shortUnit()} per ${page.noun}`.trim(), page.words.was, page.words.is, "saved"]),
    element("tbody", {}, ...rows),
    element("tfoot", {}, spendingRow("mean bill", page.before.cost, point.details.cost, write)),
  );
  byId("lines-hint").textContent = page.in_several_groups
    ? "Some features belong to several groups and count in each; the last line takes off what is counted twice."
    : "";
}

// Features without a group one by one, the dearest first; of very many the others in one line.
function withoutGroup(point, [rest, ...sums]) {
  const spent = (k) => [page.before.spent[k], point.details.spent[k]];
  const dearest = page.ungrouped
    .filter((k) => page.before.spent[k] > 0)
    .sort((a, b) => page.before.spent[b] - page.before.spent[a]);
  if (dearest.length === 0) return [[rest, ...sums]];
  const alone = dearest.length > MOST_ALONE + 1 ? dearest.slice(0, MOST_ALONE) : dearest;
  const others = dearest.slice(alone.length);
  const lines = alone.map((k) => [page.features[k], ...spent(k)]);
  if (others.length > 0) {
    const total = (place) => others.reduce((sum, k) => sum + spent(k)[place], 0);
    lines.push([`${counted(others.length, "other feature")} without a group`, total(0), total(1)]);
  }
  return lines;
}

function spendingRow(name, before, after, write) {
  const saved = rounded(before - after);
  return tableRow([name, write(before), write(after), write(saved)], ["", "", "", saved > 0 ? "saved" : ""]);
}

// Without what is left of a difference of two numbers that should be the same.
function rounded(difference) {
  return Math.abs(difference) < 1e-6 * page.before.cost ? 0 : difference;
}

function drawBars(point) {
  const [before, after] = [page.before.bars, point.details.bars];
  const width = Math.max(260, byId("bars").clientWidth);
  const height = 200;
  const high = Math.max(...before, 1);
  const yTick = page.words.bars_y === "splits" ? tickWords : percentTick;
  const margin = { left: roomFor(0, high, yTick), right: 8, top: 24, bottom: 24 };
  const x = scale(0, before.length, margin.left, width - margin.right);
  const y = scale(0, high, height - margin.bottom, margin.top);
  const drawing = frame(width, height, margin, x, y, {
    x: page.words.bars_x,
    y: page.words.bars_y,
    label: `${page.words.bars}, ${page.words.before} and at this point.`,
    xTicks: [],
    yTick,
  });
  const room = x(1) - x(0);
  const thickness = Math.min(room * 0.8, 60);
  pairedBars(drawing, before.map((_, i) => x(i) + (room - thickness) / 2), thickness, y, before, after);
  refill("bars", drawing);
  barLegend("bars-legend", page.words.before, "at this point");
  byId("bars-hint").textContent = point.details.bars_hint;
}
