// Receipts of typical rows, the proof, and how to make the model.

const FIRST_LINES = 12;

function drawReceipts(point) {
  const isOpen = [...byId("receipts").children].map((one) => one.querySelector("details")?.open);
  byId("receipts-panel").hidden = page.rows.length === 0;
  refill("receipts", ...page.rows.map((row, place) => receipt(row, point.receipts[place], isOpen[place])));
  byId("receipts-hint").textContent = modelCostWords(point, "");
}

function receipt(row, after, isOpen = false) {
  const kept = new Set(after.lines);
  const total = (paid) => row.lines.reduce((sum, line, place) => sum + (paid(place) ? line.price : 0), 0);
  const [before, now] = [total(() => true) + row.tests, total((place) => kept.has(place)) + after.tests];
  const write = columnAmount([before]);
  const lines = row.lines.map((line, place) => receiptLine(line, kept.has(place), write));
  if (row.tests > 0) lines.push(tableRow(["splits that it passes", write(row.tests), write(after.tests)]));
  const shown = element(
    "table",
    {},
    tableHead([shortUnit() || "Feature", "before", "after"]),
    element("tbody", {}, ...lines.slice(0, FIRST_LINES)),
  );
  const title = element("h3", {}, row.label, element("small", {}, `row ${row.row}`));
  const node = element("div", { class: "receipt" }, title, shown);
  node.style.setProperty("--figure", `${write(before).length + 1.5}ch`);
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
  return element(
    "details",
    isOpen ? { open: "" } : {},
    element("summary", {}, counted(lines.length, "more line")),
    element("table", {}, element("tbody", {}, ...lines)),
  );
}

function drawProof(point) {
  const { claim, tradeoff, reached, bound, gap } = point.proof;
  const rows = reached === null ? [] : [
    ["checked at the tradeoff", tradeoff],
    ["reached", grouped(reached)],
    ["no pruning can exceed", grouped(bound)],
    ["gap", grouped(gap)],
  ];
  byId("claim").textContent = claim;
  refill("proof", element("tbody", {}, ...rows.map((cells) => tableRow(cells))));
  byId("proof").hidden = rows.length === 0;
  byId("proof-hint").textContent = proofWords(reached, gap);
}

function proofWords(reached, gap) {
  const worth = page.unit ? `1 ${page.unit}` : "a bill of 1";
  const better = `Better means a smaller sum of loss (${page.loss}) and tradeoff × mean bill; the tradeoff is the loss that ${worth} is worth.`;
  if (reached === null) return better;
  const meaning = gap === "0" ? "A gap of 0 is a proof." : "The gap is how much better another pruning could be, at the most.";
  return `${better} The numbers are whole and were checked by additions alone, without trusting what found the pruning. ${meaning}`;
}

function drawRecipes(point) {
  const recipes = [recipe("In Python", point.python)];
  if (point.command !== null) recipes.unshift(recipe("On the command line", point.command));
  refill("recipes", ...recipes);
  byId("recipe-hint").textContent = `Any tradeoff ${point.interval} gives this point. In Python, path is the path that this page shows, and path[${point.index}] the same point.`;
}

function recipe(name, code) {
  const text = element("pre", {}, code);
  const button = element("button", { type: "button", "aria-label": `Copy: ${name}` }, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return element("div", { class: "recipe" }, element("div", { class: "recipe-head" }, element("span", {}, name), button), text);
}

// Copy a text; where the browser does not allow that, select it and say which keys do.
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(text);
    button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
  }
  byId("said").textContent = button.textContent;
  setTimeout(() => {
    button.textContent = "Copy";
    byId("said").textContent = "";
  }, 2000);
}
