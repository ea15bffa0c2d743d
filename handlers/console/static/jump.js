// The jump box of the console: Ctrl-K or / opens it, and it leads to a device, a profile, a subscription or a page.
(function (ledge) {
  "use strict";

  // delay is the pause in typing after which the box asks the server, in milliseconds. waits says that the answer to the last text is not
  // there yet, and enters that the user has pressed Enter before it.
  var delay = 150, timer = 0, request = null, active = -1, waits = false, enters = false;

  function part(name) { return document.getElementById("jump" + name); }
  function options() { return part("-list").children; }

  function choose(at) {
    var list = options();
    Array.prototype.forEach.call(list, function (o, i) { o.setAttribute("aria-selected", String(i === at)); });
    active = list.length ? at : -1;
    if (active < 0) { part("-text").removeAttribute("aria-activedescendant"); return; }
    part("-text").setAttribute("aria-activedescendant", list[at].id);
    list[at].scrollIntoView({ block: "nearest" });
  }

  function show(found, text) {
    var list = part("-list");
    list.replaceChildren.apply(list, found.map(function (one, i) {
      var option = document.createElement("li"), kind = document.createElement("span");
      option.id = "jump-" + i;
      option.setAttribute("role", "option");
      option.dataset.path = one.path;
      kind.className = "quiet";
      kind.textContent = one.kind;
      option.append(one.name + " ", kind);
      return option;
    }));
    list.hidden = !found.length;
    part("-text").setAttribute("aria-expanded", String(found.length > 0));
    part("-status").textContent = found.length ? found.length + " found" : text ? "Nothing has this name." : "";
    choose(0);
    waits = false;
    if (enters) { go(list.children[0]); }
    enters = false;
  }

  function find() {
    clearTimeout(timer);
    if (request) { request.abort(); }
    request = new AbortController();
    var text = part("-text").value;
    fetch("/jump?q=" + encodeURIComponent(text), { headers: { Accept: "application/json", "HX-Request": "true" }, signal: request.signal })
      .then(function (r) {
        if (r.status === 401) { location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search)); }
        if (!r.ok) { throw new Error(r.statusText); }
        return r.json();
      })
      .then(function (found) { show(found, text); })
      .catch(function (err) {
        if (err.name !== "AbortError") { part("-status").textContent = "The server does not answer. Try again."; }
      });
  }

  function open() {
    var box = part("");
    if (!box || document.querySelector("dialog[open]")) { return false; }
    box.showModal();
    part("-text").select();
    find();
    return true;
  }

  function go(option) {
    if (!option) { return; }
    part("").close();
    location.assign(option.dataset.path);
  }

  // opensBox reports whether a key opens the box. types says that the user types a text.
  function opensBox(key, types) {
    var control = key.ctrlKey || key.metaKey;
    return key.key === "/" && !types && !control && !key.altKey || key.key.toLowerCase() === "k" && Boolean(control);
  }

  // nextOption returns the option of n that a key chooses, around the ends of the list; -1 if the key chooses none.
  function nextOption(key, at, n) {
    if (!n || key !== "ArrowDown" && key !== "ArrowUp") { return -1; }
    return key === "ArrowDown" ? (at + 1) % n : (at + n - 1) % n;
  }
  ledge.jump = { opensBox: opensBox, nextOption: nextOption };

  document.addEventListener("keydown", function (e) {
    if (opensBox(e, e.target.closest("input, textarea, select, [contenteditable]")) && open()) { e.preventDefault(); }
    var next = e.target === part("-text") ? nextOption(e.key, active, options().length) : -1;
    if (next < 0) { return; }
    choose(next);
    e.preventDefault();
  });

  document.addEventListener("submit", function (e) {
    if (!e.target.closest("#jump")) { return; }
    e.preventDefault();
    e.stopImmediatePropagation();
    enters = waits;
    if (waits) { find(); } else { go(options()[active]); }
  }, true);

  document.addEventListener("input", function (e) {
    if (e.target !== part("-text")) { return; }
    clearTimeout(timer);
    waits = true;
    enters = false;
    timer = setTimeout(find, delay);
  });

  document.addEventListener("click", function (e) {
    if (e.target.closest("[data-jump]") && !e.ctrlKey && !e.metaKey && !e.shiftKey && open()) {
      e.preventDefault();
      e.stopImmediatePropagation();
    }
    go(e.target.closest("#jump-list [role=option]"));
    if (e.target.matches("dialog#jump")) { e.target.close(); } // beside the box
  }, true);
})(window.ledge = window.ledge || {});
