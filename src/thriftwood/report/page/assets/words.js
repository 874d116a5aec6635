// Numbers and words, written in one way everywhere.

const MILLIONS = [[1e9, "bn"], [1e6, "M"]];
const TOO_LARGE = 1e12;

function amount(number) {
  if (number === null || number === undefined) return "–";
  const size = Math.abs(number);
  return signed(number, size < 0.995 ? String(Number(size.toPrecision(3))) : largeAmount(size));
}

function signed(number, digits) {
  return number < 0 ? `\u2212${digits}` : digits;
}

// Two decimals; millions and billions as such, with an exponent where even these are too small.
function largeAmount(number) {
  if (number === 0) return "0";
  if (number >= TOO_LARGE) return number.toExponential(2).replace("e+", "e");
  const [size, name] = MILLIONS.find(([least]) => number >= least) ?? [1, ""];
  const digits = (number / size).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return name ? `${digits}\u00a0${name}` : digits;
}

// How to write the amounts of a column: all with two decimals where the largest is 1 or more.
function columnAmount(numbers) {
  if (Math.max(...numbers.map(Math.abs)) < 0.995) return amount;
  return (number) => {
    const size = Math.abs(number);
    return signed(number, size > 0 && size < 0.005 ? "<\u00a00.01" : largeAmount(size));
  };
}

function money(number) {
  return withUnit(amount(number));
}

function withUnit(digits) {
  return page.unit ? `${digits}\u00a0${page.unit}` : digits;
}

// For a sentence: no cents where there are hundreds.
function roundMoney(number) {
  return number >= 100 && number < 1e6 ? withUnit(whole(Math.round(number))) : money(number);
}

// A unit may be long; charts and heads of tables have room for a short one.
function shortUnit() {
  return page.unit.length > 16 ? `${page.unit.slice(0, 15)}…` : page.unit;
}

function unitInBrackets() {
  return page.unit ? ` (${shortUnit()})` : "";
}

function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}

// A share in whole percents, but "0 %" and "100 %" only where it is exactly none and all.
function sharePercent(share, digits = 0) {
  if (share === 0 || share === 1) return percent(share, 0);
  const written = Number((100 * share).toFixed(digits));
  if (written > 0 && written < 100) return percent(share, digits);
  if (digits === 0) return sharePercent(share, 1);
  return share < 0.5 ? "<\u00a00.1\u00a0%" : ">\u00a099.9\u00a0%";
}

function whole(number) {
  return number.toLocaleString("en-US");
}

function counted(number, one, many = `${one}s`) {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

// "An" before a vowel, and before a first letter that is spelt out and begins with one: XGB, LGBM.
function withArticle(name) {
  return `${/^([AEIOaeio]|[FHLMNRSX][A-Z])/.test(name) ? "An" : "A"} ${name}`;
}

function aNoun() {
  return withArticle(page.noun).replace(/^A/, "a");
}

function inARow(parts) {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")}, and ${parts[parts.length - 1]}`;
}

// Some names in a row, and how many more there are.
function listed(names, most) {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(", ")} and ${whole(more)} more` : names.join(", ");
}

// An error of the ensemble: a share of wrong predictions, or a squared error.
function errorWords(error) {
  return page.error === "share" ? percent(error) : amount(error);
}

// A score: three decimals, which tell areas under curves apart, unless it is large.
function scoreAmount(number) {
  return Math.abs(number) < 10 ? signed(number, Math.abs(number).toFixed(3)) : amount(number);
}

// Beside scores of rankings errors mean nothing.
function hasErrors() {
  return page.error !== "none" || page.score === null;
}

// The score that chooses, with its standard error.
function scoreWords({ score }, place) {
  return `${scoreAmount(score.value[place])}\u00a0±\u00a0${scoreAmount(score.spread[place])}`;
}

function spreadWords(spread) {
  return page.error === "share" ? (100 * spread).toFixed(1) : amount(spread);
}

// How much less something is, as a share of what it was.
function less(before, after) {
  if (!(before > 0)) return "";
  const share = 1 - after / before;
  if (share < 0) return `${percent(-share, share > -0.1 ? 1 : 0)} more`;
  return `${sharePercent(share, share < 0.1 ? 1 : 0)} less`;
}

// A whole number that came as text, because it may be larger than scripts can count.
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
