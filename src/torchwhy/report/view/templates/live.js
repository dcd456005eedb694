(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg";
  var WIDTH = 640, HEIGHT = 220, LEFT = 60, BOTTOM = 24, TOP = 8, EVERY = 2000;
  function id(name) { return document.getElementById(name); }
  function add(parent, name, attributes, text) {
    var made = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
  }
  function finite(value) { return value !== null; }
  function draw(losses) {
    var place = id("loss");
    var xs = [], ys = [];
    losses.forEach(function (one) { xs = xs.concat(one.x); ys = ys.concat(one.y.filter(finite)); });
    place.textContent = "";
    if (!ys.length) return;
    var x0 = Math.min.apply(null, xs), x1 = Math.max.apply(null, xs) || 1;
    var y0 = Math.min.apply(null, ys), y1 = Math.max.apply(null, ys);
    function x(value) { return LEFT + ((value - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - 10); }
    function y(value) { return HEIGHT - BOTTOM - ((value - y0) / (y1 - y0 || 1)) * (HEIGHT - BOTTOM - TOP); }
    [y0, (y0 + y1) / 2, y1].forEach(function (value) {
      add(place, "line", { "class": "grid", x1: LEFT, x2: WIDTH - 10, y1: y(value), y2: y(value) });
      add(place, "text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(4));
    });
    [x0, x1].forEach(function (value, end) {
      add(place, "text", { x: x(value), y: HEIGHT - 6, "text-anchor": end ? "end" : "start" }, "step " + value);
    });
    losses.forEach(function (one, number) {
      var path = "", pen = "M";
      one.x.forEach(function (step, i) {
        if (!finite(one.y[i])) { pen = "M"; return; }
        path += pen + x(step).toFixed(1) + "," + y(one.y[i]).toFixed(1);
        pen = "L";
      });
      add(place, "path", { "class": "curve c" + (number % 6), d: path });
    });
  }
  function tell(findings) {
    var list = id("findings");
    var text = JSON.stringify(findings);
    if (list.dataset.shown === text) return;
    list.dataset.shown = text;
    list.textContent = "";
    findings.forEach(function (one) {
      var item = document.createElement("li"), tag = document.createElement("span");
      tag.className = "tag " + one.severity;
      tag.textContent = one.severity;
      item.appendChild(tag);
      item.appendChild(document.createTextNode(" " + (one.place ? one.place + ": " : "") + one.message + " [" + one.detector + "]"));
      list.appendChild(item);
    });
    if (!findings.length) list.appendChild(document.createTextNode("none"));
  }
  function show(facts) {
    var words = facts.steps + (facts.steps === 1 ? " step" : " steps");
    if (facts.milliseconds !== null) words += ", " + facts.milliseconds.toPrecision(3) + " ms each lately";
    if (facts.cost !== null) words += ", " + facts.cost;
    id("numbers").textContent = words;
    draw(facts.losses);
    tell(facts.findings);
    if (facts.ended) {
      id("state").textContent = "ended";
      location.reload();
    }
    return !facts.ended;
  }
  function ask() {
    fetch("../live/" + document.body.dataset.name)
      .then(function (answer) { return answer.ok ? answer.json() : Promise.reject(new Error()); })
      .then(function (facts) { if (show(facts)) setTimeout(ask, EVERY); })
      .catch(function () { id("state").textContent = "torchwhy view has ended"; });
  }
  ask();
})();
