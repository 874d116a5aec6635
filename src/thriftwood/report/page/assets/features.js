// Features and fees: which share of the samples buys them, and what that costs. The lines add up.

const FIRST_FEATURES = 15;

function drawFeatures(point) {
  const lines = [...chargeLines(point), ...otherLines(point)];
  const writers = ["price", "before", "after"].map((key) => columnAmount(lines.map((line) => line[key] ?? 0)));
  const first = lines.length > FIRST_FEATURES + 1 ? FIRST_FEATURES : lines.length;
  const rest = lines.slice(first);
  fillFeatures("features", lines.slice(0, first), writers);
  const total = rest.length > 0 ? "mean bill, with the lines below" : "mean bill";
  const sum = featureRow({ name: total, before: page.before.cost, after: point.details.cost }, writers);
  byId("features").append(element("tfoot", {}, sum));
  const more = byId("more-features");
  more.hidden = rest.length === 0;
  more.querySelector("summary").textContent = counted(rest.length, "more line");
  fillWhenOpen(more, rest.length, () => fillFeatures("features-rest", rest, writers));
  byId("features-hint").textContent = page.fees.length > 0
    ? `A fee is paid once by ${aNoun()} that buys any feature of its group; it is no part of their prices.`
    : "";
  barLegend("features-legend", `${page.nouns} that buy it ${page.words.before === "before pruning" ? page.words.before : `in ${page.words.before}`}`, "at this point");
}

// Features and fees that some sample pays before pruning, the dearest first.
function chargeLines(point) {
  const names = [...page.features, ...page.fees.map((name) => `fee: ${name}`)];
  const { before } = page;
  return names
    .map((name, k) => ({
      name, price: page.prices[k], was: before.bought[k], is: point.details.bought[k], before: before.spent[k], after: point.details.spent[k],
    }))
    .filter((line) => line.was > 0)
    .sort((a, b) => b.before - a.before || b.was - a.was);
}

// What is paid for anything else, so that the lines add up to the mean bill.
function otherLines(point) {
  const names = { test_cost: `splits that ${aNoun()} passes`, model_cost: "once for the model" };
  return Object.entries(names)
    .map(([key, name]) => ({ name, before: page.before[key], after: point.details[key] }))
    .filter((line) => line.before > 0);
}

function fillFeatures(id, lines, writers) {
  const names = ["", "price", "bars", "share", "share", "spent", "spent"];
  refill(
    id,
    tableHead(["Feature", "price", "bought by", page.words.was, page.words.is, `spent ${page.words.was}`, page.words.is], names),
    element("tbody", {}, ...lines.map((line) => featureRow(line, writers))),
  );
}

function featureRow(line, [price, before, after]) {
  const isBought = line.was !== undefined;
  const cells = isBought
    ? [price(line.price), shareBars(line), sharePercent(line.was), line.is === 0 ? "–" : sharePercent(line.is)]
    : ["", "", "", ""];
  const names = ["", "price", "bars", "share", line.is === 0 ? "share gone" : "share", "spent", "spent"];
  const row = tableRow([line.name, ...cells, before(line.before), after(line.after)], names);
  if (!isBought) row.className = "money-only";
  return row;
}

function shareBars({ was, is }) {
  return element("div", { class: "twobars", "aria-hidden": "true" }, bar("was", was), bar("is", is));
}

function bar(name, share) {
  const drawn = element("i", { class: name });
  drawn.style.width = `${Math.max(share * 100, 0.6)}%`;
  if (share === 0) drawn.dataset.none = "";
  return drawn;
}
