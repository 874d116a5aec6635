// The page: which point is chosen, and everything that follows from it.

const MOST_GONE = 8; // names in a sentence
const MOST_ON_PAPER = 60; // lines of a folded part
const page = JSON.parse(document.getElementById("data").textContent);
const state = { position: 0, shows: page.score ? "score" : page.error === "none" ? "loss" : "error", showsAll: false, spots: [], width: innerWidth };

function begin() {
  sayWords();
  byId("about").textContent = aboutWords();
  byId("why").textContent = startWords();
  byId("all-points").open = false;
  setUpSwitch();
  setUpChoosing();
  choose(positionInAddress() ?? startPosition());
  addEventListener("hashchange", () => choose(positionInAddress() ?? state.position));
  addEventListener("resize", redrawCharts);
  setUpPrinting();
}

// Titles that differ with what the page is about.
function sayWords() {
  byId("bars-title").textContent = page.words.bars;
  byId("proof-title").textContent = page.words.proof;
  byId("receipts-by").textContent = `Chosen by what they pay ${page.words.by}, from cheaper than most to dearer than most.`;
}

// Charts are as wide as their panels; everything else follows by itself.
function redrawCharts() {
  if (innerWidth === state.width) return;
  state.width = innerWidth;
  const point = page.points[state.position];
  drawFrontier();
  drawBills(point);
  drawBars(point);
  drawCalibration(point);
}

// On paper only what is very long stays folded; afterwards all is as it was.
function setUpPrinting() {
  let unfolded = [];
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details:not([open])")]
      .filter((one) => Number(one.dataset.lines ?? 0) <= MOST_ON_PAPER);
    folded.forEach((one) => {
      one.open = true;
      one.ontoggle?.(); // by itself it would come after the print
    });
    unfolded.push(...folded);
  });
  addEventListener("afterprint", () => {
    unfolded.forEach((one) => { one.open = false; });
    unfolded = [];
  });
}

function aboutWords() {
  const validation = page.n_validation ? `, ${counted(page.n_validation, `validation ${page.noun}`, `validation ${page.nouns}`)}` : "";
  return `${withArticle(page.model)} of ${page.words.made_of} and ${counted(page.features.length, "feature")}; `
    + `${counted(page.n_samples, page.noun, page.nouns)}${validation}; ${page.words.method}. ${page.words.weighting}`.trim();
}

function startWords() {
  const all = page.n_points;
  const some = all > page.points.length ? ` The curve has ${whole(all)} points, ${page.points.length} of them can be chosen here.` : "";
  return `${page.start.is_suggested ? "Suggested" : "Shown first"}: ${page.start.why}.${some}${all > 1 ? " There are no models between the points: lines only guide the eye." : ""}`;
}

function startPosition() {
  return page.points.findIndex((point) => point.index === page.start.point);
}

// The address may name a point, so that a link or a reload shows it again.
function positionInAddress() {
  const named = /^#point=(\d+)$/.exec(location.hash);
  if (!named) return null;
  const wanted = Number(named[1]);
  const distance = (point) => Math.abs(point.index - wanted);
  const nearest = page.points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
  return page.points.indexOf(nearest);
}

function setUpSwitch() {
  const names = {};
  if (page.score) names.score = capital(page.score.name);
  if (page.error !== "none") names.error = page.error === "share" ? "Wrong predictions" : "Squared error";
  if (page.curve.loss !== null) names.loss = "Loss that pruning weighs";
  if (Object.keys(names).length < 2) return;
  const buttons = Object.entries(names).map(([key, words]) => {
    const button = element("button", { type: "button", "aria-pressed": key === state.shows }, words);
    button.addEventListener("click", () => {
      state.shows = key;
      buttons.forEach((one) => one.setAttribute("aria-pressed", one === button));
      drawFrontier();
    });
    return button;
  });
  refill("switch", ...buttons);
}

// Points go from dear to cheap, the slider as the chart from cheap to dear.
function setUpChoosing() {
  const last = page.points.length - 1;
  const slider = byId("slider");
  slider.max = last;
  slider.addEventListener("input", () => {
    choose(last - Number(slider.value));
    tipOfChosen();
  });
  slider.addEventListener("change", keepInAddress);
  slider.addEventListener("focus", () => { if (slider.matches(":focus-visible")) tipOfChosen(); });
  slider.addEventListener("blur", hideTip);
  byId("cheaper").addEventListener("click", () => chooseForGood(state.position + 1));
  byId("dearer").addEventListener("click", () => chooseForGood(state.position - 1));
  byId("show-all").addEventListener("click", () => {
    state.showsAll = !state.showsAll;
    drawFrontier();
  });
  byId("suggested").hidden = !page.start.is_suggested;
  byId("suggested").addEventListener("click", () => chooseForGood(startPosition()));
}

function chooseForGood(position) {
  choose(position);
  keepInAddress();
}

// Browsers may refuse that: to a page inside another, or where it changes too often.
function keepInAddress() {
  try {
    history.replaceState(null, "", `#point=${page.points[state.position].index}`);
  } catch {
    // The page does without.
  }
}

function choose(position) {
  const last = page.points.length - 1;
  state.position = Math.max(0, Math.min(last, position));
  const point = page.points[state.position];
  const slider = byId("slider");
  slider.value = last - state.position;
  slider.setAttribute("aria-valuetext", `${pointName(point)}, ${money(point.details.cost)} ${aNoun()}`);
  byId("slider-label").textContent = `${pointName(point)} (of 0 to ${whole(page.n_points - 1)})`;
  // Not "disabled", which would take the keyboard's focus away.
  byId("cheaper").setAttribute("aria-disabled", state.position === last);
  byId("dearer").setAttribute("aria-disabled", state.position === 0);
  byId("suggested").setAttribute("aria-disabled", state.position === startPosition());
  draw();
}

function pointName(point) {
  return `Point ${whole(point.index)}`;
}

function draw() {
  const point = page.points[state.position];
  drawVerdict(point);
  drawChange(point);
  drawCards(point);
  drawErrors(point);
  drawCalibration(point);
  drawFrontier();
  drawLines(point); // before the bills, which take its place where it is hidden
  drawBills(point);
  drawFeatures(point);
  drawReceipts(point);
  drawBars(point);
  drawProof(point);
  drawRecipes(point);
  markInTable();
}

// One sentence that a reader can take home.
function drawVerdict(point) {
  const { before, curve } = page;
  const { cost } = point.details;
  const parts = [`${pointName(point)}: ${aNoun()} costs `, element("strong", {}, money(cost)), " on average"];
  if (cost !== before.cost) parts.push(` instead of ${amount(before.cost)}`);
  if (before.cost > 0 && cost !== before.cost) parts.push(" (", element("strong", {}, less(before.cost, cost)), ")");
  const measured = curve.validation ?? curve.training;
  if (measured) {
    const where = curve.validation ? "the validation set" : prunedOn();
    const [now, was] = [measured.error[point.place], measured.error[0]];
    const spread = `\u00a0±\u00a0${spreadWords(measured.spread[point.place])} (one standard error)`;
    if (page.score) parts.push("; the ", page.score.name, " is ", element("strong", {}, scoreWords(measured, point.place)), ` instead of ${scoreAmount(measured.score.value[0])}`);
    if (!hasErrors()) parts.push(` on ${where}.`);
    else if (page.error === "share") {
      parts.push("; ", element("strong", {}, errorWords(now)), `${spread} of ${where} are wrong instead of ${errorWords(was)}.`);
    } else {
      parts.push("; the mean squared error on ", where, " is ", element("strong", {}, errorWords(now)), `${spread} instead of ${errorWords(was)}.`);
    }
  } else {
    parts.push(`; the ${page.words.loss} is ${amount(curve.loss[point.place])} instead of ${amount(curve.loss[0])}.`);
  }
  refill("verdict", ...parts);
}

// The same in plain numbers, what goes away, and what the error bar is not.
function drawChange(point) {
  const { before, curve } = page;
  const gone = page.features
    .map((name, k) => ({ name, k }))
    .filter(({ k }) => before.bought[k] > 0 && point.details.bought[k] === 0)
    .sort((a, b) => before.spent[b.k] - before.spent[a.k]);
  const names = gone.map(({ name }) => name);
  byId("gone").textContent = names.length > 0 ? `No longer asked of anybody: ${listed(names, MOST_GONE)}.` : "";
  byId("change").textContent = changeWords(point);
  byId("small-print").textContent = curve.training === null ? "" : smallPrint(point);
}

function changeWords(point) {
  const { before, curve } = page;
  const parts = [];
  const measured = curve.validation ?? curve.training;
  if (page.positive !== null) {
    const [was, is] = [page.before, point.details].map(missedAndFalse);
    const more = (key) => moreWords(Math.round(is[key]) - Math.round(was[key])); // of the numbers that are shown
    parts.push(`${more("missed")} are missed`, `${more("falseAlarms")} get a false alarm`);
  } else if (measured && page.error === "share") {
    parts.push(`${moreWords(1000 * (measured.error[point.place] - measured.error[0]))} are wrong`);
  }
  const saved = 1000 * rounded(before.cost - point.details.cost);
  if (saved !== 0) parts.push(`${roundMoney(Math.abs(saved))} ${saved > 0 ? "less" : "more"} is paid`);
  return parts.length > 0 ? `Of 1,000 ${page.nouns} about ${inARow(parts)}.` : "";
}

function moreWords(difference) {
  const more = Math.round(difference);
  return more === 0 ? "as many" : `${whole(Math.abs(more))} ${more > 0 ? "more" : "fewer"}`;
}

function smallPrint(point) {
  const what = { share: "this share itself", squared: "this error itself", none: "this score itself" }[page.error];
  const { validation } = page.curve;
  const chosen = validation
    ? `Bills are those of ${prunedOn()}; the validation set pays ${money(validation.cost[point.place])} on average. `
      + "It also chose the suggested point, which flatters it a little."
    : page.words.judged;
  return `± is the uncertainty of ${what}, not of the change. ${chosen}`;
}

function markInTable() {
  const rows = [...byId("points").tBodies[0].rows];
  rows.forEach((row, place) => {
    if (place === state.position + 1) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  });
}

begin();
