// Runs before the first paint, so that a dark page never flashes white.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("pilothouse.color-scheme");
  } catch (error) {
    chosen = null;
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
