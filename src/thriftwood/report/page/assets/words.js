// Numbers and words, written in one way everywhere.

function amount(number) {
  if (number === null || number === undefined) return "–";
  if (number === 0) return "0";
  if (Math.abs(number) >= 0.995) {
    return number.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  }
  return String(Number(number.toPrecision(3)));
}

function money(number) {
  return page.unit ? `${amount(number)}\u00a0${page.unit}` : amount(number);
}

function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}

function whole(number) {
  return number.toLocaleString("en-US");
}

function counted(number, one, many = `${one}s`) {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

// An error of the ensemble: a share of wrong rows, or a squared error.
function errorWords(error) {
  return page.error === "share" ? percent(error) : amount(error);
}

function spreadWords(spread) {
  return page.error === "share" ? (100 * spread).toFixed(1) : amount(spread);
}

// How much less something is, as a share of what it was.
function less(before, after) {
  if (!(before > 0)) return "";
  const share = 1 - after / before;
  const digits = share > 0 && share < 0.1 ? 1 : 0;
  return `${percent(Math.abs(share), digits)} ${share >= 0 ? "less" : "more"}`;
}

// A whole number that came as text, because it may be larger than scripts can count.
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
