// What the chosen point comes to: cards, bills, features, groups, trees.

const FIRST_FEATURES = 15;

function drawCards(point) {
  const { before, curve } = page;
  const after = point.details;
  const cards = [
    card("Mean bill of a row", amount(after.cost), `was ${amount(before.cost)}`, page.unit),
    card("Saved per row", amount(rounded(before.cost - after.cost)), less(before.cost, after.cost) || "nothing to save", page.unit),
  ];
  if (curve.validation) cards.push(errorCard("validation rows", curve.validation, point.index + 1, true));
  if (curve.rows) cards.push(errorCard("the rows given", curve.rows, point.index + 1, !curve.validation));
  if (!curve.rows) cards.push(card(capital(page.loss), amount(curve.loss[point.index + 1]), `was ${amount(curve.loss[0])}`));
  cards.push(
    card("Features asked for", whole(after.n_features), `was ${whole(before.n_features)}, of ${whole(page.features.length)}`),
    card("Splits", whole(after.n_splits), `was ${whole(before.n_splits)}`),
  );
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

function errorCard(where, measured, i, withSpread) {
  const name = page.error === "share" ? `Wrong on ${where}` : `Squared error on ${where}`;
  const spread = withSpread ? `± ${spreadWords(measured.spread[i])}, ` : "";
  return card(name, errorWords(measured.error[i]), `${spread}was ${errorWords(measured.error[0])}`);
}

function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function drawBills(point) {
  const width = Math.max(260, byId("bills").clientWidth);
  const height = 220;
  const margin = { left: 44, right: 8, top: 24, bottom: 44 };
  const { edges } = page;
  const before = shares(page.before.bills);
  const after = shares(point.details.bills);
  const x = scale(edges[0], edges[edges.length - 1], margin.left, width - margin.right);
  const y = scale(0, Math.max(...before, ...after), height - margin.bottom, margin.top);
  const drawing = frame(width, height, margin, x, y, {
    x: `bill of a row${page.unit ? ` (${page.unit})` : ""}`,
    y: "share of rows",
    label: "How many rows pay how much, before and after pruning.",
    xTicks: ticks(edges[0], edges[edges.length - 1], 5),
    yTick: (tick) => percent(tick, 0),
  });
  pairedBars(drawing, edges.slice(0, -1).map(x), x(edges[1]) - x(edges[0]) - 1, y, before, after);
  refill("bills", drawing);
  barLegend("bills-legend", "before pruning", "at this point");
  drawQuantiles(point);
}

function shares(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => count / total);
}

function drawQuantiles(point) {
  const row = (name, details) => tableRow([name, ...details.quantiles.map(amount), amount(details.cost)]);
  refill(
    "quantiles",
    tableHead([page.unit || "Bill", "10 % pay ≤", "50 % pay ≤", "90 % pay ≤", "mean"]),
    element("tbody", {}, row("before", page.before), row("after", point.details)),
  );
}

// The mean bill in parts; parts that are 0 before and after are left out, and all if there is one.
function drawLines(point) {
  const rows = page.lines
    .map((name, i) => [name, page.before.by_line[i], point.details.by_line[i]])
    .filter(([, before, after]) => before !== 0 || after !== 0)
    .map(([name, before, after]) => spendingRow(name, before, after));
  byId("lines-panel").hidden = rows.length < 2;
  refill(
    "lines",
    tableHead([`${page.unit ? `${page.unit} ` : ""}per row`, "before", "after", "saved"]),
    element("tbody", {}, ...rows),
    element("tfoot", {}, spendingRow("mean bill", page.before.cost, point.details.cost)),
  );
  byId("lines-hint").textContent = page.in_several_groups
    ? "Some features belong to several groups and count in each; the last line takes off what is counted twice."
    : "";
}

function spendingRow(name, before, after) {
  return tableRow([name, amount(before), amount(after), amount(rounded(before - after))], ["", "", "", "saved"]);
}

// Without what is left of a difference of two numbers that should be the same.
function rounded(difference) {
  return Math.abs(difference) < 1e-6 * page.before.cost ? 0 : difference;
}

function drawFeatures(point) {
  const order = page.features
    .map((_, k) => k)
    .filter((k) => page.before.bought[k] > 0)
    .sort((a, b) => page.before.spent[b] - page.before.spent[a] || page.before.bought[b] - page.before.bought[a] || a - b);
  const rows = order.map((k) => featureRow(k, point));
  fillFeatures("features", rows.slice(0, FIRST_FEATURES));
  const rest = rows.slice(FIRST_FEATURES);
  byId("more-features").hidden = rest.length === 0;
  byId("more-features").querySelector("summary").textContent = `Show ${counted(rest.length, "more feature")}`;
  fillFeatures("features-rest", rest);
  barLegend("features-legend", "rows that buy it before pruning", "at this point");
}

function fillFeatures(id, rows) {
  const names = ["", "price", "bars", "", "", "spent", "spent"];
  refill(
    id,
    tableHead(["Feature", "price", "rows that buy it", "before", "after", "spent before", "after"], names),
    element("tbody", {}, ...rows),
  );
}

function featureRow(k, point) {
  const [was, is] = [page.before.bought[k], point.details.bought[k]];
  const bars = element("div", { class: "twobars", "aria-hidden": "true" }, bar("was", was), bar("is", is));
  const cells = [page.features[k], amount(page.prices[k]), bars, percent(was, 0), is === 0 ? "–" : percent(is, 0),
    amount(page.before.spent[k]), amount(point.details.spent[k])];
  return tableRow(cells, ["", "price", "bars", "", is === 0 ? "gone" : "", "spent", "spent"]);
}

function bar(name, share) {
  const drawn = element("i", { class: name });
  drawn.style.width = `${Math.max(share * 100, 0.6)}%`;
  if (share === 0) drawn.dataset.none = "";
  return drawn;
}

function drawTrees(point) {
  const [before, after] = [page.before.trees, point.details.trees];
  const width = Math.max(260, byId("trees").clientWidth);
  const height = 200;
  const margin = { left: 44, right: 8, top: 24, bottom: 24 };
  const x = scale(0, before.length, margin.left, width - margin.right);
  const y = scale(0, Math.max(...before, 1), height - margin.bottom, margin.top);
  const what = page.trees_per_bar === 1 ? "each bar is a tree" : `each bar is ${page.trees_per_bar} trees, their mean`;
  const drawing = frame(width, height, margin, x, y, {
    x: `${what}, the largest first`,
    y: "splits",
    label: "Splits of the trees before and after pruning.",
    xTicks: [],
    yTick: tickWords,
  });
  const room = x(1) - x(0);
  const thickness = Math.min(room * 0.8, 60);
  pairedBars(drawing, before.map((_, i) => x(i) + (room - thickness) / 2), thickness, y, before, after);
  refill("trees", drawing);
  barLegend("trees-legend", "before pruning", "at this point");
  byId("trees-hint").textContent = `${counted(page.n_trees, "tree")}: `
    + `${(point.details.n_splits / page.n_trees).toFixed(1)} splits each on average, were ${(page.before.n_splits / page.n_trees).toFixed(1)}.`;
}
