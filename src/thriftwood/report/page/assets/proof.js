// What is proven about the point, and how to make its model.

function drawProof(point) {
  const { claim, tradeoff, reached, bound, gap } = point.proof;
  const rows = reached === null ? [] : [
    ["checked at the tradeoff", tradeoff],
    ["reached", grouped(reached)],
    ["no pruning of this model can exceed", grouped(bound)],
    ["gap", grouped(gap)],
  ];
  byId("claim").textContent = claim;
  refill("proof", element("tbody", {}, ...rows.map((cells) => tableRow(cells))));
  byId("proof").hidden = rows.length === 0;
  byId("proof-hint").textContent = proofWords(reached, gap);
}

function proofWords(reached, gap) {
  if (reached === null) return "";
  const worth = page.unit ? `1 ${page.unit}` : "a bill of 1";
  const better = `Better means a smaller sum of loss (${page.words.loss}) and tradeoff × mean bill; the tradeoff is the loss that ${worth} is worth.`;
  const meaning = gap === "0" ? "A gap of 0 is a proof." : "The gap is how much better another pruning of this model could be, at the most.";
  return `${better} The numbers are whole and were checked by additions alone, without trusting what found the pruning. ${meaning}`;
}

function drawRecipes(point) {
  const recipes = [recipe("In Python", point.python)];
  if (point.command !== null) recipes.unshift(recipe("On the command line", point.command));
  refill("recipes", ...recipes);
  byId("recipe-hint").textContent = point.hint;
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
