// Changes. The element with data-live names the topics of the page. A part of the page with hx-trigger="live" is loaded anew after a change
// of each topic, or only of the one in its data-topic. stream.js tells of changes, for all pages of the browser. A hidden page asks for
// nothing. htmx's SSE extension would open a stream for each page, and has no banner and no login after a refusal.
(function (ledge) {
  "use strict";

  // path is the address of stream.js, beat the time between two messages to it, in milliseconds: it closes a page that says nothing.
  // unanswered counts the messages since its last one.
  var path = document.currentScript.dataset.stream, beat = 10000, port = null, joined = false, unanswered = 0, state = "";

  // stale has the ids of parts that show an older state. Such a part waits while it is being loaded and while its user works in it.
  var stale = new Set();

  function works(part) {
    var at = document.activeElement, types = part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    return types || part.querySelector(":active, .menu[open], input[type=checkbox]:checked:not([data-kept], .mark-page)");
  }

  function refresh() {
    document.querySelectorAll("[hx-trigger^=live]").forEach(function (part) {
      var waits = stale.has(part.id) && Boolean(works(part));
      part.classList.toggle("waits", waits);
      if (stale.has(part.id) && !part.classList.contains("htmx-request") && !waits) { window.htmx.trigger(part, "live"); }
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

  // Banners say why the page does not show changes, by the state of the stream.
  var banners = {
    away: "The server does not answer. This page connects again by itself.",
    busy: "Too many browsers show the console. This page does not show changes until others are closed.",
    full: "Too many pages of the console are open in this browser. This one does not show changes until others are closed."
  };

  function banner(text) {
    var b = document.getElementById("connection");
    if (b) { b.textContent = text; b.hidden = !text; }
  }

  function receive(e) {
    unanswered = 0;
    if (document.hidden) { return; }
    if (e.data.topics) { tell(e.data.topics); }
    if (!e.data.state) { return; }
    state = e.data.state;
    banner(banners[state] || "");
    if (state === "login") { ledge.login.ask(null); }
    if (state === "live") { ledge.login.done(); }
  }

  // openPort returns the port to the stream of the browser, or to an own stream of this page if the browser has no SharedWorker.
  function openPort() {
    try {
      var worker = new window.SharedWorker(path);
      worker.onerror = function () {
        usePort(openOwn());
        connect();
      };
      return worker.port;
    } catch (err) {
      return openOwn();
    }
  }

  function openOwn() {
    var channel = new MessageChannel();
    ledge.loadScript(path, function () { ledge.stream.open()(channel.port2); });
    return channel.port1;
  }

  function usePort(opened) {
    port = opened;
    unanswered = 0;
    port.onmessage = receive;
  }

  // connect tells the stream which topics this page shows; again says that its user has just logged in.
  function connect(again) {
    var el = document.querySelector("[data-live]"), live = el && !document.hidden ? el.dataset.live : "";
    if (!live) { leave(); return; }
    if (!port) { usePort(openPort()); }
    joined = true;
    port.postMessage({ user: el.dataset.user, live: live, at: el.dataset.at, again: again === true });
  }
  ledge.connect = connect;

  function leave() {
    if (joined) { port.postMessage({}); }
    joined = false;
    state = "";
  }

  document.addEventListener("visibilitychange", connect);
  window.addEventListener("pageshow", connect);
  window.addEventListener("pagehide", leave);

  // A worker that does not answer has ended, for example with its process: the page opens another one.
  setInterval(function () {
    if (joined && unanswered >= 2) { usePort(openPort()); }
    unanswered = joined ? unanswered + 1 : 0;
    connect();
  }, beat);

  // isLive reports whether the page sends a request by itself, because of a change.
  function isLive(config) { return Boolean(config && config.triggeringEvent && config.triggeringEvent.type === "live"); }

  // Such requests do not extend the session, and neither do those of a part that loads itself after a while, which has no event. A part
  // cannot name the header in hx-headers, because the links within would send it too.
  document.addEventListener("htmx:configRequest", function (e) {
    var loads = !e.detail.triggeringEvent && e.detail.verb === "get";
    if (!isLive(e.detail) && !loads) { return; }
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

  document.addEventListener("htmx:sendError", function (e) {
    if (isLive(e.detail.requestConfig)) { stale.add(e.detail.target.id); }
    banner("The server does not answer. Try again when it does.");
  });

  ledge.onPage(function () {
    banner(banners[state] || "");
    connect();
    refresh();
  });
})(window.ledge = window.ledge || {});
