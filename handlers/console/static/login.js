// The login above a page whose session has ended. After it, the refused request is sent again.
(function (ledge) {
  "use strict";

  // refused is the form or link whose request was refused. submitter is the button of the last form that was sent: it is pressed again, so
  // that its value is sent again.
  var refused = null, submitter = null;

  function box() { return document.getElementById("login-again"); }

  function ask(el) {
    if (el && /^(FORM|A)$/.test(el.tagName)) { refused = el; }
    var d = box();
    if (d && !d.open) { d.showModal(); }
  }

  // done closes the box if the user has logged in on another page, unless a request waits for the login here.
  function done() {
    var d = box();
    if (d && d.open && !refused) { d.close(); }
  }
  ledge.login = { ask: ask, done: done };

  function sendAgain(el) {
    if (!el || !el.isConnected) { return; }
    if (el.tagName === "FORM") { el.requestSubmit(submitter && submitter.form === el ? submitter : null); } else { el.click(); }
  }

  document.addEventListener("submit", function (e) {
    if (!e.target.closest("#login-again")) { submitter = e.submitter; }
  }, true);

  document.addEventListener("htmx:responseError", function (e) {
    if (e.detail.xhr.status === 401) { ask(e.detail.elt); }
  });

  document.addEventListener("submit", function (e) {
    var d = e.target.closest("#login-again");
    if (!d) { return; }
    e.preventDefault();
    var form = new URLSearchParams(new FormData(e.target));
    fetch("/login", { method: "POST", body: form, headers: { "HX-Request": "true" } }).then(function (r) {
      var wrong = d.querySelector(".wrong");
      if (r.status !== 204) {
        wrong.textContent = r.status === 401 ? "The user name or the password is wrong." : "The login is refused for now. Try again later.";
        wrong.hidden = false;
        return;
      }
      var other = e.target.elements.username.value !== e.target.elements.username.defaultValue;
      wrong.hidden = true;
      e.target.reset();
      if (other) { location.reload(); return; } // the page is that of another user
      d.close();
      ledge.connect(true);
      sendAgain(refused);
    });
  });

  document.addEventListener("close", function (e) {
    if (e.target === box()) { refused = null; }
  }, true);
})(window.ledge = window.ledge || {});
