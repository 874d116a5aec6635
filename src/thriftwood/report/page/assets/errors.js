// Which errors the chosen point makes, beside those of the model before pruning.

const MOST_CLASSES = 20; // lines of a table

function drawErrors(point) {
  const { classes, positive, before } = page;
  byId("errors-panel").hidden = classes.length === 0;
  if (classes.length === 0) return;
  const where = page.curve.validation ? "the validation set" : prunedOn();
  if (positive === null) drawClassErrors(before, point.details, where);
  else drawMissed(before, point.details, where);
}

// Two classes: what is missed, and what is raised for nothing.
function drawMissed(before, after, where) {
  const [ill, well] = [page.positive, 1 - page.positive];
  const [was, is] = [before, after].map(missedAndFalse);
  const found = (one, k) => recognised(one.class_error[k], page.class_counts[k]);
  const [one, other] = [page.classes[ill], page.classes[well]];
  const rows = [
    [`missed: ${one}, taken for ${other}`, ...[was, is].map(({ missed }) => perThousand(missed))],
    [`false alarms: ${other}, taken for ${one}`, ...[was, is].map(({ falseAlarms }) => perThousand(falseAlarms))],
    [`sensitivity: share of ${one} that is recognised`, found(before, ill), found(after, ill)],
    [`specificity: share of ${other} that is recognised`, found(before, well), found(after, well)],
  ];
  fillErrors([`of 1,000 ${page.nouns}`, page.words.was, page.words.is], [...rows, ...sums(before, after)]);
  const counts = [ill, well].map((k) => `${amountOf(page.class_counts[k])} are ${page.classes[k]}`);
  byId("errors-hint").textContent = `Measured on ${where}, of which ${counts.join(" and ")}.`;
}

// A share of a class with its standard error; weights would need more than the counts.
function recognised(wrong, count) {
  if (wrong === null) return "–";
  const spread = Number.isInteger(count) ? `\u00a0±\u00a0${(100 * Math.sqrt((wrong * (1 - wrong)) / count)).toFixed(1)}` : "";
  return percent(1 - wrong) + spread;
}

// So many of 1,000 samples, as the classes are mixed where it was measured.
function missedAndFalse(details) {
  const total = page.class_counts.reduce((sum, count) => sum + count, 0);
  const of1000 = (k) => (1000 * page.class_counts[k] * (details.class_error[k] ?? 0)) / total;
  return { missed: of1000(page.positive), falseAlarms: of1000(1 - page.positive) };
}

function drawClassErrors(before, after, where) {
  const errors = ({ class_error }, k) => (class_error[k] === null ? "–" : perThousand(1000 * class_error[k]));
  const order = page.classes
    .map((_, k) => k)
    .filter((k) => after.class_error[k] !== null)
    .sort((a, b) => after.class_error[b] - after.class_error[a] || a - b);
  const rows = order.slice(0, MOST_CLASSES).map((k) => [
    page.classes[k], errors(before, k), errors(after, k), page.classes[after.taken_for[k]] ?? "–",
  ]);
  fillErrors(["errors of 1,000 in each class", page.words.was, page.words.is, "mostly taken for"], [...rows, ...sums(before, after)]);
  const more = order.length - rows.length;
  byId("errors-hint").textContent = `Measured on ${where}, the worst class first.${more > 0 ? ` ${counted(more, "class", "classes")} with fewer errors not shown.` : ""}`;
}

// Where errors have a price: what tests and errors cost, and both together.
function sums(before, after) {
  if (before.errors_cost === undefined) return [];
  const parts = {
    [`tests of ${aNoun()}, on average`]: (one) => one.tests,
    "errors, on average": (one) => one.errors_cost,
    "tests and errors together": (one) => one.tests + one.errors_cost,
  };
  return Object.entries(parts).map(([words, sum]) => [words, money(sum(before)), money(sum(after))]);
}

function fillErrors(head, rows) {
  refill("errors", tableHead(head), element("tbody", {}, ...rows.map((cells) => tableRow(cells))));
}

function perThousand(number) {
  return number > 0 && number < 0.5 ? "<\u00a01" : whole(Math.round(number));
}

function amountOf(count) {
  return Number.isInteger(count) ? whole(count) : amount(count);
}
