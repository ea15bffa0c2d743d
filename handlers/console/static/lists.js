// Lists of the console: marks, the chips of a search, menus, and runs that change many devices.
(function (ledge) {
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

  // Marks stay if the list is loaded again after an action or a change. Until its user marks another row, such a list shows changes.
  var kept = [];
  document.addEventListener("htmx:beforeSwap", function (e) {
    var why = e.detail.requestConfig || {}, again = why.verb === "post" || why.triggeringEvent && why.triggeringEvent.type === "live";
    kept = again ? Array.from(document.querySelectorAll("td.mark input[name]:checked"), function (m) { return m.value; }) : [];
  });
  document.addEventListener("htmx:afterSwap", function () {
    document.querySelectorAll("td.mark input[name]").forEach(function (m) {
      if (kept.includes(m.value)) { m.checked = true; m.dataset.kept = ""; }
    });
    kept = [];
  });

  // between returns the entries of a list from one to another, in either order; none if the list lacks one.
  function between(list, one, other) {
    var from = list.indexOf(one), to = list.indexOf(other);
    return from < 0 || to < 0 ? [] : list.slice(Math.min(from, to), Math.max(from, to) + 1);
  }

  // A click with the shift key marks the rows from the one that was clicked before.
  var last = null;
  document.addEventListener("click", function (e) {
    var mark = e.target.closest("td.mark input[name]");
    if (!mark) { return; }
    if (e.shiftKey) { between(marksOf(mark.form), last, mark).forEach(function (m) { m.checked = mark.checked; }); }
    last = mark;
  });

  // A run whose request was lost can be continued.
  document.addEventListener("htmx:sendError", function (e) {
    if (e.detail.elt.id === "run") { e.detail.elt.removeAttribute("data-going"); }
  });

  // The key Backspace in an empty search removes the last chip.
  document.addEventListener("keydown", function (e) {
    if (e.key === "Backspace" && e.target.matches(".search input[type=search]") && !e.target.value) {
      var chips = e.target.form.querySelectorAll(".chip");
      if (chips.length) { chips[chips.length - 1].click(); }
    }
    if (e.key === "Escape") { closeMenus(null); }
  });

  // termsWithout returns the terms of all chips but one, as the text of a search.
  function termsWithout(chips, removed) {
    return chips.filter(function (c) { return c !== removed; }).map(function (c) { return c.title; }).join(" ");
  }

  // A chip that is removed leaves the words that were typed since. Its link would forget them.
  document.addEventListener("click", function (e) {
    var chip = e.target.closest(".search .chip");
    if (!chip) { return; }
    e.preventDefault();
    e.stopImmediatePropagation();
    var form = chip.closest("form");
    form.elements.in.value = termsWithout(Array.from(form.querySelectorAll(".chip")), chip);
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

  ledge.onPage(countMarked);
  ledge.lists = { termsWithout: termsWithout, between: between };
})(window.ledge = window.ledge || {});
