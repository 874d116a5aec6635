// The frontier: mean bill against score, error, or the loss that pruning minimised.

const GROWS = 1.25; // how much higher a chart must get before points that are far off are left out

function prunedOn() {
  return page.words.own;
}

// The curves to draw: name, cost and height of the model before pruning and of every point.
function series() {
  const { curve } = page;
  if (state.shows === "loss") return [{ name: "training", cost: curve.cost, height: curve.loss, spread: null }];
  const measured = Object.entries({ training: curve.training, validation: curve.validation })
    .filter(([, one]) => one !== null);
  if (state.shows === "score") {
    return measured.filter(([, one]) => one.score).map(([name, { cost, score }]) => (
      { name, cost: cost ?? curve.cost, height: score.value, spread: score.spread }));
  }
  return measured
    .map(([name, one]) => ({ name, cost: one.cost ?? curve.cost, height: one.error, spread: one.spread }));
}

function frontierWords() {
  const y = {
    score: page.score?.name,
    loss: page.words.loss,
    error: page.error === "share" ? `share of ${page.nouns} that are wrong` : "mean squared error",
  }[state.shows];
  const yTick = state.shows === "error" && page.error === "share" ? percentTick : tickWords;
  return { x: `mean bill of ${aNoun()}${unitInBrackets()}`, y, yTick, label: `Mean bill of ${aNoun()} against ${y}.` };
}

function drawFrontier() {
  const width = Math.max(280, byId("frontier").clientWidth);
  const height = Math.round(Math.min(380, Math.max(260, width * 0.42)));
  const every = series();
  const left = drawOutside(every);
  const curves = every.map((one) => firstOf(one, one.cost.length - left));
  const costs = curves.flatMap((one) => one.cost);
  const reach = (sign) => curves.flatMap((one) => one.height.map((value, i) => value + sign * (one.spread ? one.spread[i] : 0)));
  const [bottoms, tops] = [reach(-1), reach(1)];
  const dearest = Math.max(...costs) || 1;
  const cheapest = left === 0 ? 0 : Math.max(0, Math.min(...costs) - 0.08 * (dearest - Math.min(...costs)));
  const { low, high } = endsOf(curves.flatMap((one) => one.height), bottoms, tops);
  const words = frontierWords();
  const margin = { left: roomFor(low, high, words.yTick), right: 18, top: 26, bottom: 46 };
  const x = scale(cheapest, dearest, margin.left, width - margin.right);
  const y = scale(low, high, height - margin.bottom, margin.top);
  words.xTicks = ticks(x.low, x.high, width < 500 ? 4 : 8);
  const drawing = frame(width, height, margin, x, y, words);
  const spots = curves.flatMap((one) => drawCurve(drawing, one, x, y));
  drawChosen(drawing, spots, height - margin.bottom);
  listenToChart(drawing, spots, width);
  const tip = element("div", { class: "tip", hidden: "" });
  refill("frontier", drawing, tip);
  drawLegend(curves);
}

// The ends of the vertical axis. Scores need no 0: what they are where nothing is known differs.
function endsOf(heights, bottoms, tops) {
  if (state.shows === "score") {
    const [least, most] = [Math.min(...bottoms), Math.max(...tops)];
    const room = 0.04 * (most - least) || 0.5;
    return { low: least - room, high: most + room };
  }
  const low = Math.min(0, ...heights) * 1.04;
  return { low, high: Math.max(0, ...tops) * 1.04 || (low < 0 ? 0 : 1) };
}

function firstOf(curve, n) {
  const { name, cost, height, spread } = curve;
  return { name, cost: cost.slice(0, n), height: height.slice(0, n), spread: spread && spread.slice(0, n) };
}

// How many of the cheapest points would squeeze all others into a corner. The start is never one.
function nFarOff(curves) {
  const isScore = state.shows === "score";
  const sign = isScore && page.score.rises ? -1 : 1; // far off is far worse
  const height = curves[curves.length - 1].height.map((value) => sign * value);
  const start = page.points[startPosition()].place;
  for (let n = 1; n <= height.length / 2 && height.length - n > start; n += 1) {
    const [near, far] = [height.slice(0, -n), height.slice(-n)];
    const [low, high, jump] = [Math.min(...near), Math.max(...near), Math.min(...far) - Math.max(...near)];
    const grows = isScore || (high > 0 && high + jump >= GROWS * high);
    if (jump > 0 && jump >= high - low && grows) return n;
  }
  return 0;
}

// Say how many points are left out of the chart, and let them be shown; return how many.
function drawOutside(curves) {
  const far = nFarOff(curves);
  const places = curves[0].cost.length;
  const isOut = (point) => point.place >= places - far;
  const shows = far === 0 || state.showsAll || isOut(page.points[state.position]);
  byId("outside").hidden = far === 0;
  byId("show-all").setAttribute("aria-pressed", shows);
  byId("outside-words").textContent = shows
    ? ""
    : `${counted(far, "cheaper point")}, far worse, ${far === 1 ? "is" : "are"} left of what the chart shows.`;
  return shows ? 0 : far;
}

// Draw one curve; return where the points are that can be chosen.
function drawCurve(drawing, curve, x, y) {
  const places = curve.cost.map((cost, i) => [x(cost), y(curve.height[i])]);
  const line = places.slice(1).map(([left, top]) => `${left.toFixed(1)} ${top.toFixed(1)}`).join("L");
  drawing.append(shape("path", { class: `curve ${curve.name}`, d: `M${line}` }));
  const size = page.points.length > 20 && x(x.high) < 500 ? 2.5 : 4;
  const spots = page.points.flatMap((point, position) => {
    if (point.place >= places.length) return [];
    const [left, top] = places[point.place];
    if (curve.spread) drawSpread(drawing, curve, point.place, left, y);
    drawing.append(MARKS[curve.name](left, top, size));
    return [{ position, left, top }];
  });
  if (curve.spread) drawSpread(drawing, curve, 0, places[0][0], y);
  drawing.append(MARKS.original(...places[0], 5));
  return spots;
}

function drawSpread(drawing, curve, i, left, y) {
  const least = state.shows === "score" ? -Infinity : 0;
  const [low, high] = [-1, 1].map((sign) => y(Math.max(least, curve.height[i] + sign * curve.spread[i])));
  drawing.append(shape("path", {
    class: `spread ${curve.name}`, d: `M${left} ${low}V${high}M${left - 3} ${low}h6M${left - 3} ${high}h6`,
  }));
}

function drawChosen(drawing, spots, bottom) {
  for (const spot of spots.filter((one) => one.position === state.position)) {
    drawing.append(
      shape("line", { class: "plumb", x1: spot.left, x2: spot.left, y1: spot.top + 10, y2: bottom }),
      shape("circle", { class: "halo", cx: spot.left, cy: spot.top, r: 9 }),
    );
  }
}

function drawLegend(curves) {
  const names = { training: page.words.own.replace("the ", `the ${whole(page.n_samples)} `), validation: `the validation set of ${whole(page.n_validation)}` };
  const entries = curves.map((curve) => legendEntry(
    names[curve.name] + (curve.spread ? ", ± one standard error" : ""),
    shape("path", { class: `curve ${curve.name}`, d: "M0 7H26" }),
    MARKS[curve.name](13, 7, 4),
  ));
  entries.push(
    legendEntry(page.words.before, MARKS.original(13, 7, 5)),
    legendEntry("chosen", shape("circle", { class: "halo", cx: 13, cy: 7, r: 6 })),
  );
  refill("legend", ...entries);
}

// Hovering shows what the nearest point is, clicking chooses it.
function listenToChart(drawing, spots, width) {
  const nearest = (event) => {
    const box = drawing.getBoundingClientRect();
    const left = ((event.clientX - box.left) * width) / box.width;
    const top = ((event.clientY - box.top) * width) / box.width;
    const distance = (spot) => Math.hypot(spot.left - left, (spot.top - top) / 2);
    return spots.reduce((best, spot) => (distance(spot) < distance(best) ? spot : best));
  };
  drawing.addEventListener("pointermove", (event) => showTip(nearest(event), width));
  drawing.addEventListener("pointerleave", hideTip);
  drawing.addEventListener("click", (event) => chooseForGood(nearest(event).position));
  state.spots = spots;
}

function showTip(spot, width) {
  const tip = byId("frontier").querySelector(".tip");
  const point = page.points[spot.position];
  const lines = [`${money(point.details.cost)} ${aNoun()}`, ...errorLines(point.place), counted(point.details.n_features, "feature")];
  tip.replaceChildren(element("strong", {}, pointName(point)), ...lines.map((line) => element("span", {}, line)));
  tip.hidden = false;
  const left = spot.left + 14 + tip.offsetWidth > width ? spot.left - 14 - tip.offsetWidth : spot.left + 14;
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = `${Math.max(0, spot.top - tip.offsetHeight - 10)}px`;
}

function hideTip() {
  byId("frontier").querySelector(".tip").hidden = true;
}

// With the keyboard on the slider, the chosen point tells its figures.
function tipOfChosen() {
  const spot = state.spots.find((one) => one.position === state.position);
  showTip(spot, Math.max(280, byId("frontier").clientWidth));
}

function errorLines(i) {
  const { curve } = page;
  const lines = [];
  const noun = page.error === "share" ? "wrong" : "squared error";
  if (page.score) lines.push(`${page.score.name} ${scoreWords(curve.validation ?? curve.training, i)}`);
  if (curve.training && hasErrors()) lines.push(`${errorWords(curve.training.error[i])} ${noun} on ${prunedOn()}`);
  if (curve.validation && hasErrors()) {
    lines.push(`${errorWords(curve.validation.error[i])} ± ${spreadWords(curve.validation.spread[i])} ${noun} on the validation set`);
  }
  if (curve.loss) lines.push(`loss ${amount(curve.loss[i])}`);
  return lines;
}
