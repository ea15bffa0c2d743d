// Times of the console, those of inputs too, are in the time zone of the browser. Without this script they are in UTC, and say so.
(function (ledge) {
  "use strict";

  // isoLocal returns the local time of a date in UTC's ISO format; "" if it is not a date.
  function isoLocal(date) {
    return isNaN(date) ? "" : new Date(date - date.getTimezoneOffset() * 60000).toISOString();
  }

  // show returns the local time of a date, such as 2026-03-29 02:30:15; "" if it is not a date.
  function show(date) { return isoLocal(date).slice(0, 19).replace("T", " "); }

  // showFull returns a date as a text with the day of the week and the time zone.
  function showFull(date) {
    return date.toLocaleString(undefined, {
      weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit",
      timeZoneName: "short"
    });
  }

  // showAge returns an age in seconds as a text such as 3 min. ShowAgo in ago.go has the same units.
  function showAge(seconds) {
    var units = [ // from this age on, in seconds; seconds of a unit
      [63072000, 31536000, "y"], [8640000, 2592000, "mo"], [172800, 86400, "d"], [3600, 3600, "h"], [60, 60, "min"], [5, 1, "s"]
    ];
    var age = Math.abs(seconds), unit = units.find(function (u) { return age >= u[0]; });
    return unit ? (seconds < 0 ? "in " : "") + Math.floor(age / unit[1]) + " " + unit[2] : "now";
  }

  // localInput returns the value of an input for local time, such as 2026-03-29T02:30, for a time in UTC; "" if it is not a time.
  function localInput(utc) {
    var at = new Date(/[zZ]$/.test(utc) ? utc : utc + "Z");
    return isoLocal(at).slice(0, at.getUTCSeconds() ? 19 : 16);
  }

  // utcInput returns the time in UTC for the value of an input for local time; "" if it is not a time.
  function utcInput(local) {
    var at = new Date(local);
    return isNaN(at) ? "" : at.toISOString().slice(0, local.length > 16 ? 19 : 16);
  }

  ledge.times = { show: show, showFull: showFull, showAge: showAge, localInput: localInput, utcInput: utcInput };

  function zoneName() {
    var parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(new Date());
    var part = parts.find(function (p) { return p.type === "timeZoneName"; });
    return part ? part.value : "local time";
  }

  // An input for a time shows local time. A hidden input sends the same time in UTC.
  function takeLocalTime(input) {
    var sent = document.createElement("input"), given = input.getAttribute("value") || "";
    sent.type = "hidden";
    sent.name = input.name;
    sent.value = given;
    input.removeAttribute("name");
    input.after(sent);
    input.value = localInput(given) || input.value;
    input.addEventListener("input", function () { sent.value = utcInput(input.value); });
  }

  function showTimes() {
    document.querySelectorAll("time[datetime]:not([title])").forEach(function (t) {
      var at = new Date(t.getAttribute("datetime"));
      t.title = showFull(at);
      t.textContent = show(at) || t.textContent;
    });
    document.querySelectorAll("input[type=datetime-local][name]").forEach(takeLocalTime);
    document.querySelectorAll(".zone").forEach(function (z) { z.textContent = "(" + zoneName() + ")"; });
    var zone = document.getElementById("zone"), place = Intl.DateTimeFormat().resolvedOptions().timeZone, name = zoneName();
    if (zone) { zone.textContent = place === name ? name : place + " (" + name + ")"; }
  }

  // Ages follow the clock. Their title is the time.
  function showAges() {
    document.querySelectorAll("time.ago").forEach(function (t) {
      var at = new Date(t.getAttribute("datetime")), text = showAge((Date.now() - at) / 1000);
      if (t.textContent !== text) { t.textContent = text; }
      t.title = showFull(at);
    });
  }
  setInterval(showAges, 5000);

  ledge.onPage(function () {
    showTimes();
    showAges();
  });
})(window.ledge = window.ledge || {});
