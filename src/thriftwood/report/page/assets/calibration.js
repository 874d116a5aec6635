// Whether predicted probabilities are what happens, at the chosen point and before.

function drawCalibration(point) {
  const [before, after] = [page.before.calibration, point.details.calibration];
  byId("calibration-panel").hidden = !after;
  if (!after) return;
  const one = page.classes[page.positive];
  const width = Math.max(260, byId("calibration").clientWidth);
  const height = 240;
  const margin = { left: roomFor(0, 1, percentTick), right: 18, top: 26, bottom: 46 };
  const x = scale(0, 1, margin.left, width - margin.right);
  const y = scale(0, 1, height - margin.bottom, margin.top);
  const drawing = frame(width, height, margin, x, y, {
    x: `predicted probability of ${one}`,
    y: `share that is ${one}`,
    label: `What is predicted for ${page.nouns}, by tenths of the probability of ${one}, against the share that is.`,
    xTicks: [0, 0.2, 0.4, 0.6, 0.8, 1],
    yTick: percentTick,
  });
  drawing.append(shape("line", { class: "plumb", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
  drawTenths(drawing, before, "original", x, y);
  drawTenths(drawing, after, "training", x, y);
  refill("calibration", drawing);
  refill(
    "calibration-legend",
    legendEntry(page.words.before, MARKS.original(13, 7, 4)),
    legendEntry("at this point, ± one standard error", MARKS.training(13, 7, 4)),
    legendEntry("as it should be", shape("line", { class: "plumb", x1: 0, y1: 7, x2: 26, y2: 7 })),
  );
}

// A mark for each tenth of probabilities that samples have: mean, share that is true, how many.
function drawTenths(drawing, tenths, kind, x, y) {
  for (const [probability, share, count] of tenths) {
    const [left, top] = [x(probability), y(share)];
    if (kind !== "original" && Number.isInteger(count)) {
      const spread = Math.sqrt((share * (1 - share)) / count);
      const [low, high] = [-1, 1].map((sign) => y(Math.min(1, Math.max(0, share + sign * spread))));
      drawing.append(shape("path", { class: `spread ${kind}`, d: `M${left} ${low}V${high}` }));
    }
    drawing.append(MARKS[kind](left, top, 4));
  }
}
