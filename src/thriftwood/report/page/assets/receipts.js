// Receipts of typical samples: what they paid for, and what they still pay for.

const FIRST_LINES = 12;

function drawReceipts(point) {
  const isOpen = [...byId("receipts").children].map((one) => one.querySelector("details")?.open);
  byId("receipts-panel").hidden = page.typical.length === 0;
  refill("receipts", ...page.typical.map((one, place) => receipt(one, point.receipts[place], isOpen[place])));
  byId("receipts-hint").textContent = modelCostWords(point, "");
}

function receipt(sample, after, isOpen = false) {
  const kept = new Set(after.lines);
  const total = (paid) => sample.lines.reduce((sum, line, place) => sum + (paid(place) ? line.price : 0), 0);
  const [before, now] = [total(() => true) + sample.tests, total((place) => kept.has(place)) + after.tests];
  const write = columnAmount([before]);
  const lines = sample.lines.map((line, place) => () => receiptLine(line, kept.has(place), write));
  if (sample.tests > 0) lines.push(() => tableRow(["splits that it passes", write(sample.tests), write(after.tests)]));
  const shown = element(
    "table",
    {},
    tableHead([shortUnit() || "Feature", page.words.was, page.words.is]),
    element("tbody", {}, ...lines.slice(0, FIRST_LINES).map((draw) => draw())),
  );
  const title = element("h3", {}, sample.label, element("small", {}, `row ${sample.sample}`));
  const node = element("div", { class: "receipt" }, title, shown);
  node.style.setProperty("--figure", `${Math.max(write(before).length, "before".length) * 0.68 + 1}em`);
  if (lines.length > FIRST_LINES) node.append(moreLines(lines.slice(FIRST_LINES), isOpen));
  node.append(element("table", {}, element("tfoot", {}, tableRow(["in all", write(before), write(now)]))));
  return node;
}

function receiptLine(line, isKept, write) {
  const what = element("span", {}, line.name);
  if (line.value !== null) what.append(element("span", { class: "value" }, ` = ${line.value}`));
  const row = tableRow([what, write(line.price), isKept ? write(line.price) : "–"], ["", "", isKept ? "" : "gone"]);
  if (!isKept) row.className = "dropped";
  return row;
}

function moreLines(lines, isOpen) {
  const body = element("tbody");
  const details = element(
    "details",
    isOpen ? { open: "" } : {},
    element("summary", {}, counted(lines.length, "more line")),
    element("table", {}, body),
  );
  fillWhenOpen(details, lines.length, () => body.replaceChildren(...lines.map((draw) => draw())));
  return details;
}
