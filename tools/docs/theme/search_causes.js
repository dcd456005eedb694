// Searches the list of causes as `torchwhy explain WORDS` does (detect/manuals/search.py): rare words count more, a page
// must have most of the query, and pages that have all of it come first. The words are in causes/words.js.
(function () {
  "use strict";

  function wordsOf(text) {
    const found = text.toLowerCase().match(/(?<![a-z0-9])[a-z][a-z0-9]*/g) || [];
    return [...new Set(found)];
  }

  function similarity(word, words, data) {
    if (words.has(word)) return 1;
    const stem = word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word;
    for (const one of words) if (one.startsWith(stem)) return data.beginning;
    return 0;
  }

  function search(query, data) {
    const asked = wordsOf(query);
    const names = Object.keys(data.sets);
    const hit = (word, fields) => Object.entries(data.weights)
      .reduce((sum, [field, weight]) => sum + weight * similarity(word, fields[field] || new Set(), data), 0);
    const columns = asked.map(word => names.map(name => hit(word, data.sets[name])))
      .filter(column => column.some(one => one > 0));
    if (!columns.length || 2 * columns.length < asked.length) return [];
    const rarity = columns.map(column => Math.log(1 + names.length / (1 + column.filter(one => one > 0).length)));
    const total = rarity.reduce((sum, one) => sum + one, 0);
    const found = names.map((name, row) => {
      const hits = columns.map(column => column[row]);
      const covered = hits.reduce((sum, one, index) => sum + (one > 0 ? rarity[index] : 0), 0);
      const score = hits.reduce((sum, one, index) => sum + one * rarity[index], 0);
      return {name, score, covered, all: hits.every(one => one > 0)};
    }).filter(one => one.covered > 0 && one.covered >= data.needed * total);
    const best = Math.max(0, ...found.map(one => one.score));
    return found.filter(one => one.score >= data.tail * best)
      .sort((a, b) => b.all - a.all || b.score - a.score || (a.name < b.name ? -1 : 1))
      .map(one => one.name);
  }

  function told(query, count) {
    if (!query) return "";
    if (!count) return "No page matches. Try fewer words.";
    return count === 1 ? "One cause:" : `${count} causes, the best match first:`;
  }

  function start() {
    const box = document.querySelector(".cause-search"), data = window.torchwhyCauses;
    if (!box || !data) return;
    data.sets = Object.fromEntries(Object.entries(data.causes).map(([name, fields]) =>
      [name, Object.fromEntries(Object.entries(fields).map(([field, words]) => [field, new Set(words)]))]));
    const input = box.querySelector("input"), status = box.querySelector(".found");
    const lists = [...document.querySelectorAll("article ul")].filter(list => list.querySelector("li > a > code"));
    const rows = new Map(lists.flatMap(list => [...list.children])
      .map(row => [row.querySelector("a > code").textContent, row]));
    const results = document.createElement("ul");
    results.className = "results";
    status.after(results);
    box.hidden = false;

    function show() {
      const query = input.value.trim();
      const found = query ? search(query, data) : [];
      results.replaceChildren(...found.map(name => rows.get(name)).filter(Boolean).map(row => row.cloneNode(true)));
      status.textContent = told(query, found.length);
      document.body.classList.toggle("searching-causes", Boolean(query));
      const address = new URL(location.href);
      if (query) address.searchParams.set("q", query); else address.searchParams.delete("q");
      if (location.protocol !== "file:") history.replaceState(null, "", address);
    }

    input.addEventListener("input", show);
    box.querySelectorAll("button").forEach(button => button.addEventListener("click", () => {
      input.value = button.textContent;
      input.focus();
      show();
    }));
    input.value = new URL(location.href).searchParams.get("q") || "";
    show();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
