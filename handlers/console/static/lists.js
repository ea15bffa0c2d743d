// The script of lists with marks.
(function () {
  "use strict";

  function marksOf(form) { return Array.from(form.querySelectorAll("td.mark input[name]")); }

  // The bar for marked rows says how many there are, and so do its buttons and the question before a deletion.
  function countMarked() {
    document.querySelectorAll(".bulk").forEach(function (bar) {
      var marks = marksOf(bar.form), n = marks.filter(function (m) { return m.checked; }).length;
      var all = bar.querySelector("[name=all]"), page = bar.form.querySelector(".mark-page");
      if (page) {
        page.checked = n > 0 && n === marks.length;
        page.indeterminate = n > 0 && n < marks.length;
      }
      if (all && n < marks.length) { all.checked = false; }
      if (all && all.checked) { n = Number(all.dataset.of); }
      bar.querySelector("legend").textContent = n ? n + " marked" : "Marked devices";
      bar.querySelectorAll("button[value=lock], button[value=unlock], button[value=delete]").forEach(function (b) {
        b.dataset.words = b.dataset.words || b.textContent;
        b.textContent = n ? b.dataset.words + " " + n : b.dataset.words;
        if (!b.dataset.keeps) { return; }
        if (all && all.checked) { delete b.dataset.confirm; return; } // the next page asks
        b.dataset.confirm = b.dataset.words + " " + (n === 1 ? "1 device" : n + " devices") + "? " + b.dataset.keeps;
      });
    });
  }

  document.addEventListener("change", function (e) {
    if (e.target.matches(".mark-page")) {
      marksOf(e.target.form).forEach(function (m) { m.checked = e.target.checked; });
    } else if (e.target.matches(".bulk [name=all]") && e.target.checked) {
      marksOf(e.target.form).forEach(function (m) { m.checked = true; });
    }
    countMarked();
  });

  // A click with the shift key marks the rows from the one that was clicked before.
  var last = null;
  document.addEventListener("click", function (e) {
    var mark = e.target.closest("td.mark input[name]");
    if (!mark) { return; }
    var marks = marksOf(mark.form), from = marks.indexOf(last), to = marks.indexOf(mark);
    if (e.shiftKey && from >= 0) {
      marks.slice(Math.min(from, to), Math.max(from, to) + 1).forEach(function (m) { m.checked = mark.checked; });
    }
    last = mark;
  });

  // A run whose request was lost can be continued.
  document.addEventListener("htmx:sendError", function (e) {
    if (e.detail.elt.id === "run") { e.detail.elt.removeAttribute("data-going"); }
  });

  // Ages, such as 3 min, follow the clock. Their title is the time in the time zone of the browser. ShowAgo in ago.go has the same units.
  function showAge(seconds) {
    var units = [[63072000, 31536000, "y"], [8640000, 2592000, "mo"], [172800, 86400, "d"], [3600, 3600, "h"], [60, 60, "min"], [5, 1, "s"]];
    var age = Math.abs(seconds), unit = units.find(function (u) { return age >= u[0]; });
    return unit ? (seconds < 0 ? "in " : "") + Math.floor(age / unit[1]) + " " + unit[2] : "now";
  }

  function showAges() {
    document.querySelectorAll("time.ago").forEach(function (t) {
      var at = new Date(t.getAttribute("datetime")), text = showAge((Date.now() - at) / 1000);
      if (t.textContent !== text) { t.textContent = text; }
      t.title = window.ledgeTime(at);
    });
  }
  setInterval(showAges, 5000);

  // Suggestions complete the last of the terms in a search. The key Backspace in an empty search removes the last chip.
  document.addEventListener("input", function (e) {
    if (!e.target.matches(".search input[list]")) { return; }
    var before = e.target.value.replace(/\S*$/, "");
    Array.prototype.forEach.call(e.target.list.options, function (o) {
      o.dataset.value = o.dataset.value || o.value;
      o.value = before + o.dataset.value;
    });
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "Backspace" && e.target.matches(".search input[type=search]") && !e.target.value) {
      var chips = e.target.form.querySelectorAll(".chip");
      if (chips.length) { chips[chips.length - 1].click(); }
    }
    if (e.key === "Escape") { closeMenus(null); }
  });

  // A chip that is removed leaves the words that were typed since. Its link would forget them.
  document.addEventListener("click", function (e) {
    var chip = e.target.closest(".search .chip");
    if (!chip) { return; }
    e.preventDefault();
    e.stopImmediatePropagation();
    var form = chip.closest("form"), others = Array.from(form.querySelectorAll(".chip")).filter(function (c) { return c !== chip; });
    form.elements.in.value = others.map(function (c) { return c.title; }).join(" ");
    form.requestSubmit();
  }, true);

  // One menu is open at a time, until there is a click elsewhere.
  function closeMenus(except) {
    document.querySelectorAll("details.menu[open]").forEach(function (m) {
      if (m === except) { return; }
      if (m.contains(document.activeElement)) { m.querySelector("summary").focus(); }
      m.open = false;
    });
  }
  document.addEventListener("click", function (e) { closeMenus(e.target.closest("details.menu")); });

  function settle() {
    countMarked();
    showAges();
  }
  document.addEventListener("DOMContentLoaded", settle);
  document.addEventListener("htmx:afterSettle", settle);
})();
