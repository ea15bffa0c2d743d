// Forms of the console: questions before a form is left and before an action that cannot be undone, passwords that are shown, suggestions,
// URLs of channels, filters, and the focus on a chosen channel.
(function (ledge) {
  "use strict";

  // A question before an action that cannot be undone.
  document.addEventListener("submit", function (e) {
    var text = (e.submitter && e.submitter.dataset.confirm) || e.target.dataset.confirm;
    if (text && !window.confirm(text)) { e.preventDefault(); e.stopImmediatePropagation(); }
  }, true);

  // A form with data-guard saves something. sent is the form whose request is under way; leaving is set after the user has agreed to leave.
  var question = "This form has changes that are not saved. Leave the page without them?";
  var sent = null, leaving = false;

  function isChanged(field) {
    if (field.disabled || /^(hidden|submit|button|fieldset)$/.test(field.type)) { return false; }
    if (field.type === "checkbox" || field.type === "radio") { return field.checked !== field.defaultChecked; }
    if (field.type === "file") { return field.files.length > 0; }
    if (field.tagName === "SELECT") {
      var first = Array.prototype.findIndex.call(field.options, function (o) { return o.defaultSelected; });
      return field.options.length > 0 && field.selectedIndex !== Math.max(first, 0);
    }
    return field.value !== field.defaultValue;
  }

  function hasChanges() {
    var again = document.querySelector("main[data-unsaved]");
    return Array.prototype.some.call(document.querySelectorAll("form[data-guard]"), function (form) {
      return form !== sent && (again || Array.prototype.some.call(form.elements, isChanged));
    });
  }

  window.addEventListener("beforeunload", function (e) {
    if (!leaving && hasChanges()) { e.preventDefault(); }
  });

  // Links load pages with htmx, which does not unload the document.
  document.addEventListener("click", function (e) {
    var link = e.target.closest("a[href]:not([target], [download], [data-jump], [href^='#'])");
    if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !hasChanges()) { return; }
    leaving = window.confirm(question);
    if (!leaving) { e.preventDefault(); e.stopImmediatePropagation(); }
  }, true);

  document.addEventListener("submit", function (e) {
    if (e.target.matches("form[data-guard]")) { sent = e.target; }
  });
  document.addEventListener("htmx:afterRequest", function () { sent = null; leaving = false; });

  // Passwords are hidden again before they are sent, so that browsers know them as passwords.
  function reveal(button, shown) {
    document.getElementById(button.getAttribute("aria-controls")).type = shown ? "text" : "password";
    button.firstChild.textContent = shown ? "Hide" : "Show";
  }
  document.addEventListener("click", function (e) {
    var button = e.target.closest("[data-reveal]");
    if (button) { reveal(button, button.firstChild.textContent === "Show"); }
  });
  document.addEventListener("submit", function (e) {
    e.target.querySelectorAll("[data-reveal]").forEach(function (button) { reveal(button, false); });
  }, true);

  // A page that shows a form again begins at the channel that the user has just added or changed.
  document.addEventListener("htmx:afterSwap", function () {
    var chosen = document.querySelector("[data-chosen]");
    if (chosen && !document.querySelector("[aria-invalid=true]")) {
      chosen.scrollIntoView({ block: "nearest" });
      chosen.focus({ preventScroll: true });
    }
  });

  // The suggestions of an input are there as soon as it has the focus.
  document.addEventListener("click", function (e) {
    if (e.target.tagName === "INPUT" && e.target.list && !e.target.value && e.target.showPicker) {
      try { e.target.showPicker(); } catch (err) { /* the browser opens it at the next key */ }
    }
  });

  // wordsBefore returns the text before the last word of an input. Commas or spaces separate words.
  function wordsBefore(text, commas) {
    return commas ? text.replace(/[^,]*$/, "").replace(/,$/, ", ") : text.replace(/\S*$/, "");
  }

  // Suggestions complete the last word of a list and of a search.
  document.addEventListener("input", function (e) {
    var commas = /^(categories|labels)$/.test(e.target.name);
    if (!e.target.list || !commas && !e.target.matches(".search input")) { return; }
    var before = wordsBefore(e.target.value, commas);
    Array.prototype.forEach.call(e.target.list.options, function (o) {
      o.dataset.value = o.dataset.value || o.value;
      o.value = before + o.dataset.value;
    });
  });

  // urlParts returns the parts of a URL that it has; null if the text is not a URL of a host.
  function urlParts(text) {
    var u;
    try { u = new URL(text.trim()); } catch (err) { return null; }
    if (!/^\s*[a-z]+:\/\//i.test(text) || !u.hostname || u.username || u.password || u.hash) { return null; }
    return {
      scheme: u.protocol.slice(0, -1), host: u.hostname.replace(/^\[|\]$/g, ""), port: u.port,
      path: (u.pathname + u.search).replace(/^\/$/, "")
    };
  }

  // A URL as the host of a channel fills the inputs of its scheme, host, port and path. A port that was typed stays if the URL has none.
  document.addEventListener("change", function (e) {
    var name = e.target.name || "", parts = /\.host$/.test(name) && urlParts(e.target.value);
    var input = function (part) { return e.target.form.elements[name.replace(/host$/, part)]; };
    var scheme = parts && input("scheme");
    if (!scheme || !Array.from(scheme.options).some(function (o) { return o.value === parts.scheme; })) { return; }
    parts.port = parts.port || input("port").value || { http: "80", https: "443" }[parts.scheme];
    Object.keys(parts).forEach(function (part) {
      if (parts[part] && input(part)) { input(part).value = parts[part]; }
    });
  });

  // hasWords reports whether a text has each of some words, in lower or upper case.
  function hasWords(text, words) {
    text = text.toLowerCase();
    return words.toLowerCase().split(/\s+/).every(function (w) { return text.includes(w); });
  }

  // A search box shows the rows of a table that have each of its words.
  document.addEventListener("input", function (e) {
    var box = e.target.closest("[data-filter]");
    if (!box) { return; }
    var rows = Array.from(document.querySelectorAll(box.dataset.filter + " tbody tr"));
    rows.forEach(function (row) { row.hidden = !hasWords(row.textContent, e.target.value); });
    var shown = rows.filter(function (row) { return !row.hidden; }).length;
    box.querySelector("[role=status]").textContent = e.target.value ? shown + " of " + rows.length : "";
  });

  // In a narrow window a button unfolds the filters. It says how many of them are set.
  function countFilters() {
    var form = document.getElementById("filters"), set = 0;
    if (!form) { return; }
    form.querySelectorAll("input:not([type=hidden]):not([type=search]), select").forEach(function (f) {
      set += (f.type === "checkbox" ? f.checked : f.value && !(f.options && f.selectedIndex === 0)) ? 1 : 0;
    });
    document.querySelector("button.fold").textContent = "Filters" + (set ? " (" + set + " set)" : "");
  }
  document.addEventListener("change", countFilters);
  document.addEventListener("click", function (e) {
    if (!e.target.matches("button.fold")) { return; }
    e.target.setAttribute("aria-expanded", String(!document.getElementById("filters").classList.toggle("folded")));
  });
  ledge.onPage(countFilters);

  ledge.forms = { isChanged: isChanged, wordsBefore: wordsBefore, hasWords: hasWords, urlParts: urlParts };
})(window.ledge = window.ledge || {});
