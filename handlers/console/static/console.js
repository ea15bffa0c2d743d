// The script of the console beside htmx. It receives changes, shows a banner while the server is away, asks for a login after the session
// has ended, and has times in the time zone of the browser.
(function () {
  "use strict";

  // Changes. The element with data-live names the topics of the page. Each message has the topics that have changed. A part of the page
  // with hx-trigger="live" is then loaded anew: after a change of each topic, or only of the one in its data-topic.
  // A hidden page closes its connection, because browsers allow few connections to one server. htmx's SSE extension would replace only
  // the lines that open the EventSource: it has no pause for hidden pages, no banner, and no login after a refusal.
  var source = null, wanted = "", retry = 0, lost = false;

  // stale has the ids of parts that show an older state. Such a part waits while it is being loaded and while its user works in it.
  var stale = new Set();

  function works(part) {
    var at = document.activeElement, types = part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    return types || part.querySelector(":active, .menu[open], input[type=checkbox]:checked");
  }

  function refresh() {
    document.querySelectorAll("[hx-trigger^=live]").forEach(function (part) {
      if (stale.has(part.id) && !part.classList.contains("htmx-request") && !works(part)) { window.htmx.trigger(part, "live"); }
    });
  }

  function tell(topics) {
    document.querySelectorAll("[hx-trigger^=live]").forEach(function (part) {
      if (!part.dataset.topic || topics.includes(part.dataset.topic)) { stale.add(part.id); }
    });
    refresh();
  }

  ["change", "click", "focusout"].forEach(function (type) {
    document.addEventListener(type, function () { setTimeout(refresh); }); // the focus has moved by then
  });

  function banner(text) {
    var b = document.getElementById("connection");
    if (b) { b.textContent = text; b.hidden = !text; }
  }

  function close() {
    clearTimeout(retry);
    if (source) { source.close(); source = null; }
  }

  function connect() {
    var el = document.querySelector("[data-live]");
    var query = el && !document.hidden ? el.dataset.live : "";
    if (source && query === wanted) { return; }
    close();
    wanted = query;
    if (!query) { return; }
    source = new EventSource("/live?" + query + "&at=" + encodeURIComponent(el.dataset.at));
    source.onmessage = function (e) { tell(e.data.split(" ")); };
    source.onopen = function () {
      if (lost) { lost = false; banner(""); }
    };
    source.onerror = function () {
      var refused = source && source.readyState === EventSource.CLOSED;
      lost = true;
      if (!refused) { banner("The server does not answer. This page connects again by itself."); return; }
      source = null;
      askWhy();
    };
  }

  // askWhy asks why the server has refused a connection, because an EventSource does not tell.
  function askWhy() {
    fetch("/live?", { headers: { Accept: "text/event-stream" } }).then(function (r) {
      if (r.body) { r.body.cancel(); }
      if (r.status === 401) { banner(""); askForLogin(null); return; }
      if (r.status === 503) { banner("Too many pages of the console are open. This one does not show changes until others are closed."); }
      retry = setTimeout(r.status === 503 ? askWhy : connect, 2000);
    }, function () { retry = setTimeout(connect, 2000); });
  }

  document.addEventListener("visibilitychange", function () {
    if (document.hidden) { close(); wanted = ""; return; }
    connect();
  });

  // isLive reports whether the page sends a request by itself, because of a message.
  function isLive(config) { return Boolean(config && config.triggeringEvent && config.triggeringEvent.type === "live"); }

  // Such requests do not extend the session.
  document.addEventListener("htmx:configRequest", function (e) {
    if (!isLive(e.detail)) { return; }
    e.detail.headers["X-Live"] = "1";
    stale.delete(e.detail.elt.id);
  });

  // The answer does not replace a part whose user has begun to work in it. An error replaces the page only if the entity is gone.
  document.addEventListener("htmx:beforeSwap", function (e) {
    if (!isLive(e.detail.requestConfig)) { return; }
    if (e.detail.xhr.status === 404) { location.reload(); }
    if (e.detail.xhr.status !== 200 || works(e.detail.target)) {
      stale.add(e.detail.target.id);
      e.detail.shouldSwap = false;
    }
  });

  // The login above the page. After it, the refused request is sent again.
  var refused = null;

  function askForLogin(el) {
    refused = el;
    var d = document.getElementById("login-again");
    if (d && !d.open) { d.showModal(); }
  }

  function again(el) {
    if (!el || !el.isConnected) { return; }
    if (el.tagName === "FORM") { el.requestSubmit(submitter && submitter.form === el ? submitter : null); }
    if (el.tagName === "A") { el.click(); }
  }

  // The button of a form whose request is refused: it is pressed again, so that its value is sent again.
  var submitter = null;
  document.addEventListener("submit", function (e) {
    if (!e.target.closest("#login-again")) { submitter = e.submitter; }
  }, true);

  document.addEventListener("htmx:responseError", function (e) {
    if (e.detail.xhr.status === 401) { askForLogin(e.detail.elt); }
  });
  document.addEventListener("htmx:sendError", function (e) {
    if (isLive(e.detail.requestConfig)) { stale.add(e.detail.target.id); }
    banner("The server does not answer. Try again when it does.");
    lost = true;
  });

  document.addEventListener("submit", function (e) {
    var d = e.target.closest("#login-again");
    if (!d) { return; }
    e.preventDefault();
    fetch("/login", { method: "POST", body: new URLSearchParams(new FormData(e.target)), headers: { "HX-Request": "true" } }).then(function (r) {
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
      wanted = "";
      connect();
      again(refused);
      refused = null;
    });
  });

  // A question before an action that cannot be undone.
  document.addEventListener("submit", function (e) {
    var text = (e.submitter && e.submitter.dataset.confirm) || e.target.dataset.confirm;
    if (text && !window.confirm(text)) { e.preventDefault(); e.stopImmediatePropagation(); }
  }, true);

  // Times, those of inputs too, are in the time zone of the browser. Without this script they are in UTC, and say so.
  window.ledgeTime = function (date) {
    return date.toLocaleString(undefined, {
      weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit"
    });
  };

  function zoneName() {
    var parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(new Date());
    var part = parts.find(function (p) { return p.type === "timeZoneName"; });
    return part ? part.value : "local time";
  }

  function showTimes(root) {
    root.querySelectorAll("time[datetime]:not([title])").forEach(function (t) {
      t.title = t.textContent;
      t.textContent = window.ledgeTime(new Date(t.getAttribute("datetime")));
    });
    root.querySelectorAll("input[type=datetime-local][name]").forEach(takeLocalTime);
    root.querySelectorAll(".zone").forEach(function (z) { z.textContent = "(" + zoneName() + ")"; });
    var zone = document.getElementById("zone"), place = Intl.DateTimeFormat().resolvedOptions().timeZone, name = zoneName();
    if (zone) { zone.textContent = place === name ? name : place + " (" + name + ")"; }
  }

  // An input for a time shows local time. A hidden input sends the same time in UTC.
  function takeLocalTime(input) {
    var sent = document.createElement("input"), given = input.getAttribute("value") || "";
    sent.type = "hidden";
    sent.name = input.name;
    sent.value = given;
    input.removeAttribute("name");
    input.after(sent);
    var at = new Date(/[zZ]$/.test(given) ? given : given + "Z");
    if (!isNaN(at)) {
      var local = new Date(at - at.getTimezoneOffset() * 60000).toISOString();
      input.value = local.slice(0, at.getUTCSeconds() ? 19 : 16);
    }
    input.addEventListener("input", function () {
      var chosen = new Date(input.value);
      sent.value = isNaN(chosen) ? "" : chosen.toISOString().slice(0, input.value.length > 16 ? 19 : 16);
    });
  }

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

  // In a narrow window a button unfolds the filters. It says how many of them are set.
  function countFilters() {
    var form = document.getElementById("filters"), set = 0;
    if (!form) { return; }
    form.querySelectorAll("input:not([type=hidden]):not([type=search]), select").forEach(function (f) {
      set += f.value && !(f.options && f.selectedIndex === 0) ? 1 : 0;
    });
    document.querySelector("button.fold").textContent = "Filters" + (set ? " (" + set + " set)" : "");
  }
  document.addEventListener("change", countFilters);
  document.addEventListener("click", function (e) {
    if (!e.target.matches("button.fold")) { return; }
    e.target.setAttribute("aria-expanded", String(!document.getElementById("filters").classList.toggle("folded")));
  });

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

  // A search box shows the rows of a table that have each of its words.
  document.addEventListener("input", function (e) {
    var box = e.target.closest("[data-filter]");
    if (!box) { return; }
    var words = e.target.value.toLowerCase().split(/\s+/), shown = 0;
    var rows = document.querySelectorAll(box.dataset.filter + " tbody tr");
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase();
      row.hidden = !words.every(function (w) { return text.includes(w); });
      shown += row.hidden ? 0 : 1;
    });
    box.querySelector("[role=status]").textContent = e.target.value ? shown + " of " + rows.length : "";
  });

  // The suggestions of an input are there as soon as it has the focus.
  document.addEventListener("click", function (e) {
    if (e.target.tagName === "INPUT" && e.target.list && !e.target.value && e.target.showPicker) {
      try { e.target.showPicker(); } catch (err) { /* the browser opens it at the next key */ }
    }
  });

  // Suggestions complete the last of the words that an input separates by commas.
  document.addEventListener("input", function (e) {
    if (!e.target.list || !/^(categories|labels)$/.test(e.target.name)) { return; }
    var before = e.target.value.replace(/[^,]*$/, "").replace(/,$/, ", ");
    Array.prototype.forEach.call(e.target.list.options, function (o) {
      o.dataset.value = o.dataset.value || o.value;
      o.value = before + o.dataset.value;
    });
  });

  // The chart and its library are loaded with the first page that has one.
  function load(path, then) {
    var script = document.createElement("script");
    script.src = path;
    script.onload = then;
    document.head.appendChild(script);
  }

  var charts = false;
  function loadChart() {
    var table = document.querySelector("[data-chart-script]");
    if (!table || charts) { return; }
    charts = true;
    var style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = table.dataset.uplotStyle;
    document.head.appendChild(style);
    load(table.dataset.uplot, function () { load(table.dataset.chartScript); });
  }

  // In a narrow window the menu is one line that scrolls: the current page is brought into view.
  function showCurrent() {
    var link = document.querySelector(".top nav a[aria-current]");
    if (!link) { return; }
    var nav = link.closest("nav"), a = link.getBoundingClientRect(), n = nav.getBoundingClientRect();
    nav.scrollLeft += a.left - n.left - (n.width - a.width) / 2;
  }

  function settle() {
    if (!source || source.readyState === EventSource.OPEN) { banner(""); lost = false; }
    showTimes(document);
    addCopyButtons();
    countFilters();
    document.querySelectorAll("img[data-size]").forEach(checkPicture);
    showCurrent();
    connect();
    loadChart();
  }
  document.addEventListener("DOMContentLoaded", settle);
  document.addEventListener("htmx:afterSettle", function () {
    settle();
    refresh();
  });

  // A new page begins at what is wrong with its form, or else at its content. The focus moves as soon as the page is there, so that it does
  // not move away from where its user has begun to type.
  document.addEventListener("htmx:afterSwap", function (e) {
    if (e.detail.target !== document.body) { return; }
    var first = document.querySelector("[aria-invalid=true]") || document.getElementById("main");
    if (first) { first.focus({ preventScroll: first.id === "main" }); }
    window.scrollTo(0, 0);
  });
})();
