// Every page of the console: parts of pages that need a script, and the tools that the other scripts share.
(function (ledge) {
  "use strict";

  // onPage calls a function for each new page, and after a part of a page was loaded anew.
  ledge.onPage = function (call) {
    document.addEventListener("DOMContentLoaded", call);
    document.addEventListener("htmx:afterSettle", call);
  };

  // loadScript loads a script, and calls then when it has run.
  ledge.loadScript = function (path, then) {
    var script = document.createElement("script");
    script.src = path;
    script.onload = then;
    document.head.appendChild(script);
  };

  // A copy button above each text to copy. It copies the selection, because writing the clipboard needs TLS.
  function addCopyButtons() {
    document.querySelectorAll("pre.snippet, pre.secret").forEach(function (pre) {
      if (pre.previousElementSibling && pre.previousElementSibling.classList.contains("copy")) { return; }
      var button = document.createElement("button");
      button.type = "button";
      button.className = "copy second small";
      button.textContent = "Copy";
      button.addEventListener("click", function () {
        window.getSelection().selectAllChildren(pre);
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
      });
      pre.before(button);
    });
  }

  // A picture that is broken or tiny has a text in its place, with its size.
  function checkPicture(img) {
    if (img.tagName !== "IMG" || !img.dataset.size || !img.complete || img.hidden) { return; }
    var w = img.naturalWidth, h = img.naturalHeight;
    if (w >= 16 && h >= 16 || !w && !performance.getEntriesByName(img.src).length) { return; } // whole, or not loaded yet
    var text = document.createElement("span");
    text.className = "no-picture";
    text.textContent = w ? w + " × " + h + " pixels, " + img.dataset.size : "Cannot be shown as a picture, " + img.dataset.size;
    img.before(text);
    img.hidden = true;
  }
  ["load", "error"].forEach(function (type) {
    document.addEventListener(type, function (e) { if (e.target.tagName) { checkPicture(e.target); } }, true);
  });

  // The chart and its library are loaded with the first page that has one.
  var charts = false;
  function loadChart() {
    var table = document.querySelector("[data-chart-script]");
    if (!table || charts) { return; }
    charts = true;
    var style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = table.dataset.uplotStyle;
    document.head.appendChild(style);
    ledge.loadScript(table.dataset.uplot, function () { ledge.loadScript(table.dataset.chartScript); });
  }

  // In a narrow window the menu is one line that scrolls: the current page is brought into view.
  function showCurrent() {
    var link = document.querySelector(".top nav a[aria-current]");
    if (!link) { return; }
    var nav = link.closest("nav"), a = link.getBoundingClientRect(), n = nav.getBoundingClientRect();
    nav.scrollLeft += a.left - n.left - (n.width - a.width) / 2;
  }

  ledge.onPage(function () {
    addCopyButtons();
    document.querySelectorAll("img[data-size]").forEach(checkPicture);
    showCurrent();
    loadChart();
  });

  // A new page begins at what is wrong with its form, or else at its content. The focus moves as soon as the page is there, so that it does
  // not move away from where its user has begun to type.
  document.addEventListener("htmx:afterSwap", function (e) {
    if (e.detail.target !== document.body) { return; }
    var first = document.querySelector("[aria-invalid=true]") || document.getElementById("main");
    if (first) { first.focus({ preventScroll: first.id === "main" }); }
    window.scrollTo(0, 0);
  });
})(window.ledge = window.ledge || {});
