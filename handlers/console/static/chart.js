// Draws the numbers of tables: the element with data-chart names its table. The tables have the numbers for everybody; the charts are
// beside them. All charts of a page show the same time. A zoom stays when new values arrive.
(function (ledge) {
  "use strict";
  var charts = new Map(); // by their element
  var zoom = null, page = ""; // the times that are shown, in seconds; of a page
  var keys = "Arrow keys show single values. Plus and minus zoom, Page Up and Page Down move, 0 shows the whole time.";

  function resolved(name) {
    var probe = document.createElement("span");
    probe.className = "probe-" + name;
    document.body.appendChild(probe);
    var value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  // read returns the columns of a table, the oldest first: times and values, or times, means, minima and maxima. A gap is a row without
  // values. Times are in seconds.
  function read(table) {
    var summed = "summed" in table.dataset, columns = summed ? [[], [], [], []] : [[], []];
    Array.from(table.tBodies[0].rows).reverse().forEach(function (row) {
      var t = Number(row.cells[0].dataset.t) / 1000, xs = columns[0];
      if ("gap" in row.dataset && xs.length) {
        xs.push((xs[xs.length - 1] + t) / 2);
        columns.slice(1).forEach(function (ys) { ys.push(null); });
      }
      xs.push(t);
      (summed ? [3, 2, 4] : [1]).forEach(function (cell, i) { columns[i + 1].push(Number(row.cells[cell].dataset.v)); });
    });
    return columns;
  }

  // wholeOf returns the first and the last time of a table, in seconds.
  function wholeOf(table, xs) {
    var from = Number(table.dataset.from) / 1000, to = Number(table.dataset.to) / 1000;
    if (!table.dataset.from) { from = xs[0]; to = xs[xs.length - 1]; }
    return to > from ? [from, to] : [from - 1, from + 1];
  }

  function show(chart) {
    var range = zoom || chart.whole;
    if (chart.plot.data[0].length) { chart.plot.setScale("x", { min: range[0], max: range[1] }); }
  }

  function setZoom(range) {
    zoom = range;
    charts.forEach(show);
    tellZoom();
  }

  // bounds is the time from the first to the last of all charts.
  function bounds() {
    var all = Array.from(charts.values());
    var from = all.map(function (c) { return c.whole[0]; }), to = all.map(function (c) { return c.whole[1]; });
    return [Math.min.apply(null, from), Math.max.apply(null, to)];
  }

  // zoomed returns a range of times, zoomed by a factor and moved by a part of its length; null for the whole time. A range is not shorter
  // than two milliseconds.
  function zoomed(range, whole, factor, part) {
    var length = range[1] - range[0], middle = (range[0] + range[1]) / 2 + part * length, half = Math.max(length * factor, 0.002) / 2;
    return half * 2 >= whole[1] - whole[0] && !part ? null : [middle - half, middle + half];
  }

  function change(factor, part) {
    var whole = bounds();
    setZoom(zoomed(zoom || whole, whole, factor, part));
  }

  var actions = [
    ["Zoom in", function () { change(0.5, 0); }], ["Zoom out", function () { change(2, 0); }],
    ["Earlier", function () { change(1, -0.5); }], ["Later", function () { change(1, 0.5); }],
    ["Whole time", function () { setZoom(null); }]
  ];

  // tools is the row of buttons above the charts. The link loads what is shown with more detail.
  function tools(box) {
    var first = box.closest("#charts") || box.parentNode;
    if (first.querySelector(".chart-tools")) { return; }
    var row = document.createElement("p");
    row.className = "row chart-tools";
    actions.forEach(function (action) {
      var b = document.createElement("button");
      b.type = "button";
      b.className = "second small";
      b.textContent = action[0];
      b.addEventListener("click", action[1]);
      row.appendChild(b);
    });
    if (first.dataset.detail) {
      var a = document.createElement("a");
      a.className = "button second small detail";
      a.textContent = "Load this part";
      row.appendChild(a);
    }
    if (first.id === "charts") { first.prepend(row); } else { box.before(row); }
  }

  function tellZoom() {
    document.querySelectorAll(".chart-tools .detail").forEach(function (a) {
      a.hidden = !zoom;
      if (zoom) {
        var time = function (s) { return encodeURIComponent(new Date(s * 1000).toISOString()); };
        a.href = a.closest("#charts").dataset.detail + "&from=" + time(zoom[0]) + "&to=" + time(zoom[1]);
      }
    });
  }

  // lone returns the indices of values without a neighbour. A line does not show them.
  function lone(ys) {
    var none = function (y) { return y === null || y === undefined; };
    return Array.from(ys.keys()).filter(function (i) { return !none(ys[i]) && none(ys[i - 1]) && none(ys[i + 1]); });
  }

  function number(v) { return v === null || v === undefined ? "–" : String(Number(v.toPrecision(10))); }

  // axisTimes returns the labels of times in seconds, a step apart: days, or the time of day with the date where the day changes.
  function axisTimes(times, step) {
    var last = "";
    return times.map(function (t) {
      var at = new Date(Math.round(t * 1000)), text = ledge.times.show(at), day = text.slice(0, 10), label = day;
      if (step < 86400) {
        label = text.slice(11, step < 60 ? 19 : 16);
        if (step < 1) { label += "." + String(at.getMilliseconds()).padStart(3, "0"); }
        if (day !== last) { label += "\n" + day; }
      }
      last = day;
      return label;
    });
  }

  // at moves the cursor of a chart to a value, and says it.
  function at(chart, i) {
    var u = chart.plot, data = u.data;
    if (data[1][i] === null || data[1][i] === undefined) { return; }
    u.setCursor({ left: u.valToPos(data[0][i], "x"), top: u.valToPos(data[1][i], "y") });
    var text = ledge.times.show(new Date(data[0][i] * 1000)) + ": " + number(data[1][i]) + " " + chart.box.dataset.units;
    if (data[2]) { text += ", mean of " + number(data[2][i]) + " to " + number(data[3][i]); }
    chart.said.textContent = text;
  }

  // step moves to the next value in a direction, or to the first or the last that is shown.
  function step(chart, direction, end) {
    var u = chart.plot, xs = u.data[0], shown = u.scales.x, i = u.cursor.idx;
    if (end || i === null || i === undefined) { i = direction > 0 ? -1 : xs.length; }
    do { i += direction; } while (i >= 0 && i < xs.length && (u.data[1][i] === null || xs[i] < shown.min || xs[i] > shown.max));
    if (i >= 0 && i < xs.length) { at(chart, i); }
  }

  function press(chart, e) {
    var does = {
      ArrowLeft: function () { step(chart, -1); }, ArrowRight: function () { step(chart, 1); },
      Home: function () { step(chart, 1, true); }, End: function () { step(chart, -1, true); },
      "+": actions[0][1], "=": actions[0][1], "-": actions[1][1], PageUp: actions[2][1], PageDown: actions[3][1],
      "0": actions[4][1], Escape: actions[4][1]
    }[e.key];
    if (!does || e.ctrlKey || e.altKey || e.metaKey) { return; }
    e.preventDefault();
    does();
  }

  function optionsFor(box, summed) {
    var text = resolved("quiet"), line = resolved("line"), stroke = resolved("link");
    var axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    var label = box.dataset.label + (box.dataset.units ? " (" + box.dataset.units + ")" : "");
    var value = function (u, v) { return number(v); };
    var time = function (u, t) { return t === null || t === undefined ? "–" : ledge.times.show(new Date(t * 1000)); };
    var times = function (u, splits, i, space, step) { return axisTimes(splits, step); };
    var filter = function (u, i, all) { return all ? null : lone(u.data[i]); };
    var points = Object.assign({ size: 8, fill: stroke, filter: filter }, summed ? { show: false } : {});
    var series = [{ value: time }, { label: label, stroke: stroke, width: 2, points: points, value: value }];
    if (summed) { // the mean is a line, minimum and maximum are dashed, with a band between
      series[1].label = "Mean of " + label;
      ["Minimum", "Maximum"].forEach(function (name) {
        series.push({ label: name, stroke: stroke, width: 1, dash: [3, 3], points: points, value: value });
      });
    }
    return {
      width: box.clientWidth || 300, height: 260, series: series,
      axes: [Object.assign({ space: 75, values: times }, axis), Object.assign({ size: 64 }, axis)],
      bands: summed ? [{ series: [3, 2], fill: resolved("band") }] : [],
      legend: { markers: { dash: function (u, i) { return i > 1 ? "dashed" : "solid"; } } },
      cursor: {
        sync: { key: "ledge" }, drag: { setScale: false },
        bind: { dblclick: function () { return function () { setZoom(null); }; } }
      },
      hooks: {
        setScale: [function (u, key) { // the times that are shown, in seconds
          if (key === "x") { box.dataset.shown = u.scales.x.min + " " + u.scales.x.max; }
        }],
        setSelect: [function (u) {
          if (u.select.width > 2) { setZoom([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]); }
          if (u.select.width > 0) { u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false); }
        }]
      }
    };
  }

  function create(box, table, data) {
    var summed = "summed" in table.dataset, inner = document.createElement("div"), said = document.createElement("p");
    box.textContent = "";
    inner.tabIndex = 0;
    inner.setAttribute("role", "group");
    inner.setAttribute("aria-label", "Chart of " + box.dataset.label + ". " + keys);
    said.className = "hide";
    said.setAttribute("aria-live", "polite");
    box.append(inner, said);
    var chart = { box: box, said: said, summed: summed, whole: wholeOf(table, data[0]) };
    chart.plot = new window.uPlot(optionsFor(box, summed), data, inner);
    inner.addEventListener("keydown", function (e) { press(chart, e); });
    charts.set(box, chart);
    return chart;
  }

  function draw() {
    if (!window.uPlot) { return; }
    charts.forEach(function (chart, box) {
      if (!box.isConnected) { chart.plot.destroy(); charts.delete(box); }
    });
    if (page !== location.pathname + location.search) { zoom = null; page = location.pathname + location.search; }
    document.querySelectorAll("[data-chart]").forEach(function (box) {
      var table = document.querySelector(box.dataset.chart);
      if (!table) { return; }
      var data = read(table), chart = charts.get(box);
      box.classList.toggle("empty", !data[0].length);
      if (chart && (chart.summed !== "summed" in table.dataset || !box.firstChild)) { chart.plot.destroy(); chart = null; }
      if (chart) {
        chart.whole = wholeOf(table, data[0]);
        if (box.clientWidth && box.clientWidth !== chart.plot.width) { // it was empty
          chart.plot.setSize({ width: box.clientWidth, height: 260 });
        }
        chart.plot.setData(data, false);
      } else {
        tools(box);
        chart = create(box, table, data);
      }
      show(chart);
    });
    tellZoom();
  }

  document.addEventListener("htmx:afterSettle", draw);
  window.addEventListener("resize", function () {
    charts.forEach(function (chart, box) {
      if (box.isConnected) { chart.plot.setSize({ width: box.clientWidth, height: 260 }); }
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
    charts.forEach(function (chart) { chart.plot.destroy(); });
    charts.clear();
    draw();
  });
  ledge.chart = { read: read, wholeOf: wholeOf, zoomed: zoomed, lone: lone, number: number, axisTimes: axisTimes };
  draw();
})(window.ledge);
