// The versions of the site, each a folder beside this one, as versions.js above them lists them.
document.addEventListener("DOMContentLoaded", () => {
  const select = document.getElementById("versions");
  for (const version of window.VERSIONS ?? []) {
    if (version !== select.value) select.add(new Option(version));
  }
  select.addEventListener("change", () => {
    location.href = `${select.dataset.root}${select.value}/index.html`;
  });
});
