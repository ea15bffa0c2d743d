// Forms of the console: leaving a form with changes asks, a password can be shown, and a chosen channel gets the focus.
(function () {
  "use strict";

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
    var link = e.target.closest("a[href]");
    if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) { return; }
    if (link.target || link.hasAttribute("data-jump") || link.hasAttribute("download") || link.getAttribute("href").startsWith("#") || !hasChanges()) { return; }
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
})();
