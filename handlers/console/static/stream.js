// One stream of changes for all pages of a browser. Without TLS a browser opens six connections to one server, and each stream takes one.
// This script is a SharedWorker. In a browser without SharedWorkers, such as Chrome on Android, each page runs it for itself.
//
// A page sends { user, live, at, again } through its port: its user, its topics as a query such as devices=hall&readings=, and the position
// of the state that it shows. live is "" while the page is hidden. again is true after a login. A page repeats this every ten seconds.
// A page gets {} as an answer, { topics: ["devices"] } if it shows an older state, and { state } if its state changes:
//   live   it gets changes
//   away   the server does not answer; the stream is opened again in two seconds
//   login  the session has ended, or belongs to another user
//   busy   the server has no stream for this browser yet
//   full   the stream has as many topics as the server allows
(function (scope) {
  "use strict";

  // silent is the time after which a page without messages is closed, and pause the time until another attempt, in milliseconds. A page
  // that crashes says nothing. A Web Lock would also tell of its end, but browsers have Web Locks with TLS only.
  var silent = 30000, pause = 2000;

  // topicsOf returns the topics of a query, each in one form: devices=hall.
  function topicsOf(query) {
    return Array.from(new URLSearchParams(query), function (pair) { return new URLSearchParams([pair]).toString(); });
  }

  // kindsOf returns the kinds of topics, such as devices, each once.
  function kindsOf(topics) {
    return Array.from(new Set(topics.map(function (topic) { return topic.split("=")[0]; })));
  }

  // changedKinds returns the kinds of topics of a page that a message of the stream is for. Both are queries.
  function changedKinds(live, message) {
    var changed = new Set(topicsOf(message));
    return kindsOf(topicsOf(live).filter(function (topic) { return changed.has(topic); }));
  }

  // joinedTopics returns the topics of several pages as one query.
  function joinedTopics(pages) {
    return Array.from(new Set(pages.flatMap(function (page) { return topicsOf(page.live); }))).join("&");
  }

  function openStream() {
    // pages are the visible pages by their ports. stream is the name of the open stream and user its user; both are "" before its first
    // event. request is under way; outdated says that the topics have changed since it was sent.
    var pages = new Map(), source = null, stream = "", user = "", timer = 0, request = null, outdated = false;

    function tell(page, state) {
      if (page.state === state) { return; }
      page.state = state;
      page.port.postMessage({ state: state });
    }

    function tellAll(state) { pages.forEach(function (page) { tell(page, state); }); }

    function close() {
      clearTimeout(timer);
      if (source) { source.close(); }
      if (request) { request.abort(); }
      source = request = null;
      stream = user = "";
    }

    function openLater() {
      close();
      timer = setTimeout(open, pause);
    }

    function open() {
      close();
      var own = source = new EventSource("/live");
      own.addEventListener("begin", function (e) {
        var named = new URLSearchParams(e.data);
        stream = named.get("stream");
        user = named.get("user");
        pages.forEach(function (page) { page.joins = true; page.full = false; });
        choose();
      });
      own.onmessage = function (e) {
        pages.forEach(function (page) {
          var kinds = page.user === user ? changedKinds(page.live, e.data) : [];
          if (kinds.length) { page.port.postMessage({ topics: kinds }); }
        });
      };
      own.onerror = askWhy;
    }

    // askWhy asks why the stream has ended or was refused, because an EventSource does not tell. A page says when its user has logged in.
    function askWhy() {
      close();
      timer = setTimeout(function () { tellAll("away"); }, pause);
      var own = request = new AbortController();
      fetch("/live", { headers: { Accept: "text/event-stream" }, signal: own.signal }).then(function (r) {
        if (r.body) { r.body.cancel(); }
        if (own.signal.aborted) { return; }
        if (r.status === 401) { askForLogin(); return; }
        if (!r.ok) { tellAll(r.status === 429 ? "busy" : "away"); }
        openLater();
      }, function () {
        if (own.signal.aborted) { return; }
        openLater();
        tellAll("away");
      });
    }

    function askForLogin() {
      close();
      tellAll("login");
    }

    // choose sends the topics of all pages to the server, one request after the other. The answer is the position of its state: a page that
    // has just joined and shows another state has missed a change. The stream sends each later change. A stream belongs to one user.
    function choose() {
      if (!stream) { return; }
      outdated = Boolean(request);
      if (outdated) { return; }
      var own = request = new AbortController(), chosen = [];
      pages.forEach(function (page) {
        if (page.user !== user) { tell(page, "login"); } else if (!page.full) { chosen.push(page); }
      });
      var form = new URLSearchParams(joinedTopics(chosen));
      form.append("stream", stream);
      fetch("/live", { method: "POST", body: form, signal: own.signal }).then(function (r) {
        return r.text().then(function (text) { take(own, chosen, r.status, text); });
      }).catch(function () {
        if (own.signal.aborted) { return; }
        openLater();
        tellAll("away");
      });
    }

    // take takes the answer to a request of choose, for the pages that were chosen. 404 says that the stream has ended.
    function take(own, chosen, status, at) {
      if (own.signal.aborted) { return; }
      request = null;
      if (status === 401) { askForLogin(); return; }
      if ((status === 400 || status === 413) && chosen.length) { leaveOut(chosen.pop()); return; }
      if (status !== 200) { openLater(); return; }
      chosen.forEach(function (page) {
        tell(page, "live");
        if (page.joins && page.at !== at) { page.port.postMessage({ topics: kindsOf(topicsOf(page.live)) }); }
        page.joins = false;
      });
      if (outdated) { choose(); }
    }

    // leaveOut sends the topics again without the ones of a page, because the server has refused so many.
    function leaveOut(page) {
      page.full = true;
      tell(page, "full");
      choose();
    }

    function update() {
      if (!pages.size) { close(); return; }
      if (stream) { choose(); } else if (!source) { open(); }
    }

    function leave(port) {
      if (!pages.delete(port)) { return; }
      pages.forEach(function (page) {
        if (page.full) { page.full = false; page.joins = true; }
      });
      update();
    }

    function receive(port, sent) {
      if (!sent.live) { leave(port); return; }
      port.postMessage({});
      var known = pages.get(port);
      var page = { port: port, user: sent.user, live: sent.live, at: sent.at, seen: performance.now(), joins: true };
      if (known && !sent.again && known.user === sent.user && known.live === sent.live && known.at === sent.at) {
        known.seen = page.seen;
        return;
      }
      pages.set(port, page);
      if (sent.again || stream && sent.user !== user) { open(); } else { update(); } // the cookie may be the one of another session
    }

    setInterval(function () {
      pages.forEach(function (page, port) {
        if (performance.now() - page.seen > silent) { leave(port); }
      });
    }, silent / 3);

    return function join(port) {
      port.onmessage = function (e) { receive(port, e.data); };
    };
  }

  if (scope.SharedWorkerGlobalScope) {
    var join = openStream();
    scope.onconnect = function (e) { join(e.ports[0]); };
  } else {
    scope.ledge.stream = { open: openStream, changedKinds: changedKinds, joinedTopics: joinedTopics };
  }
})(self);
