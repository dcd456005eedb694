(function () {
  "use strict";
  var waiting = Array.prototype.slice.call(document.querySelectorAll(".vega"));
  var options = {
    actions: false,
    renderer: "svg",
    ast: true,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  // One chart for each task of the browser, so that the page stays responsive.
  function drawNext() {
    var place = waiting.shift();
    if (!place) {
      document.documentElement.setAttribute("data-drawn", "true");
      return;
    }
    var spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    window
      .vegaEmbed(place, spec, options)
      .catch(function (problem) {
        place.textContent = "This chart could not be drawn: " + problem.message;
      })
      .then(function () {
        setTimeout(drawNext, 0);
      });
  }
  Array.prototype.forEach.call(document.querySelectorAll("button.copy"), function (button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      var lines = button.parentElement.previousElementSibling.children;
      var text = Array.prototype.map.call(lines, function (line) {
        return line.textContent;
      });
      navigator.clipboard.writeText(text.join("\n") + "\n").then(function () {
        button.textContent = "Copied";
      });
    });
  });
  setTimeout(drawNext, 0);
})();
