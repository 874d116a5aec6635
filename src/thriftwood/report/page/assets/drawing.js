// Elements of the page and of its charts. Text only ever goes in as text.

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

// Put new children into an element, in place of all that it has.
function refill(id, ...children) {
  byId(id).replaceChildren(...children);
}

// Fill a part that is folded only when somebody unfolds it: long tables take time.
function fillWhenOpen(details, lines, fill) {
  details.dataset.lines = lines;
  details.ontoggle = () => { if (details.open) fill(); };
  details.ontoggle();
}

// A function from values to places, with the ends that it was made of.
function scale(low, high, from, to) {
  const place = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  return Object.assign(place, { low, high });
}

// Round numbers from low to high, about as many as wanted.
function ticks(low, high, wanted) {
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let number = Math.ceil(low / step); number * step <= high * (1 + 1e-9); number += 1) {
    found.push(Number((number * step).toPrecision(12)));
  }
  return found;
}

function percentTick(share) {
  return `${tickWords(100 * share)}\u00a0%`;
}

function tickWords(number) {
  const [size, name] = MILLIONS.find(([least]) => Math.abs(number) >= least) ?? [1, ""];
  if (Math.abs(number) >= TOO_LARGE) return amount(number);
  const digits = (number / size).toLocaleString("en-US", { maximumSignificantDigits: 6 });
  return name ? `${digits}\u00a0${name}` : digits;
}

// About how wide a text in a chart is.
function widthOf(text) {
  return 7 * text.length;
}

// The margin that the ticks of a vertical axis need.
function roomFor(low, high, write) {
  return Math.max(0, ...ticks(low, high, 5).map((tick) => widthOf(write(tick)))) + 14;
}

// The frame of a chart: grid, axes and their words. Returns the drawing.
function frame(width, height, margin, x, y, words) {
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words.label });
  const bottom = height - margin.bottom;
  for (const tick of ticks(y.low, y.high, 5)) {
    drawing.append(
      shape("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(tick), y2: y(tick) }),
      shape("text", { x: margin.left - 8, y: y(tick) + 4, "text-anchor": "end" }, words.yTick(tick)),
    );
  }
  for (const tick of words.xTicks) {
    const text = tickWords(tick);
    const place = Math.min(x(tick), width - widthOf(text) / 2);
    drawing.append(shape("text", { x: place, y: bottom + 18, "text-anchor": "middle" }, text));
  }
  drawing.append(
    shape("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: bottom, y2: bottom }),
    shape("text", { x: width - margin.right, y: height - 4, "text-anchor": "end" }, words.x),
    shape("text", { x: 0, y: 12 }, words.y),
  );
  return drawing;
}

const MARKS = {
  training: (x, y, size) => shape("circle", { class: "mark training", cx: x, cy: y, r: size }),
  validation: (x, y, size) => shape("path", {
    class: "mark validation",
    d: `M${x} ${y - size * 1.35}L${x + size * 1.35} ${y}L${x} ${y + size * 1.35}L${x - size * 1.35} ${y}Z`,
  }),
  original: (x, y, size) => shape("rect", {
    class: "mark original", x: x - size, y: y - size, width: 2 * size, height: 2 * size,
  }),
};

// An entry of a legend: a small drawing and what it means.
function legendEntry(words, ...drawn) {
  const sample = shape("svg", { width: 26, height: 14, "aria-hidden": "true" }, ...drawn);
  return element("span", {}, sample, words);
}

function barLegend(id, before, after) {
  refill(
    id,
    legendEntry(before, shape("rect", { class: "bar-before", x: 2, y: 2, width: 22, height: 10 })),
    legendEntry(after, shape("rect", { class: "bar-after", x: 2, y: 2, width: 22, height: 10 })),
  );
}

// Bars before pruning as outlines, bars after it filled.
function pairedBars(drawing, places, width, y, before, after) {
  for (let i = 0; i < before.length; i += 1) {
    const outline = { x: places[i], y: y(before[i]), width, height: y(0) - y(before[i]) };
    if (after[i] > 0) {
      const inset = width > 6 ? 2 : 0;
      drawing.append(shape("rect", {
        class: "bar-after", x: places[i] + inset, y: y(after[i]), width: width - 2 * inset, height: y(0) - y(after[i]),
      }));
    }
    if (before[i] > 0) drawing.append(shape("rect", { class: "bar-before", ...outline }));
  }
}

// Cells of a table; the first is the head of its row.
function tableRow(cells, names = []) {
  const row = element("tr");
  cells.forEach((cell, place) => {
    const kind = place === 0 ? element("th", { scope: "row" }) : element("td");
    if (names[place]) kind.className = names[place];
    kind.append(cell);
    row.append(kind);
  });
  return row;
}

function tableHead(cells, names = []) {
  const row = element("tr");
  cells.forEach((cell, place) => {
    const head = element("th", { scope: "col" }, cell);
    if (names[place]) head.className = names[place];
    row.append(head);
  });
  return element("thead", {}, row);
}
