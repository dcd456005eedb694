(function (script) {
  "use strict";
  var change = script && script.previousElementSibling;
  if (!change) return;
  var button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy the change";
  button.addEventListener("click", function () {
    function copied() {
      button.textContent = "Copied";
    }
    if (navigator.clipboard) {
      navigator.clipboard.writeText(change.textContent).then(copied);
      return;
    }
    // A page from another machine without encryption has no clipboard.
    window.getSelection().selectAllChildren(change);
    if (document.execCommand("copy")) copied();
  });
  script.parentNode.insertBefore(button, script);
})(document.currentScript);
