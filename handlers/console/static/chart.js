// Draws the numbers of the table that data-chart names. The table has them for everybody; the chart is beside it.
(function () {
  "use strict";
  var chart = null, drawn = null;

  function resolved(name) {
    var probe = document.createElement("span");
    probe.className = "probe-" + name;
    document.body.appendChild(probe);
    var value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  function read(table) {
    var xs = [], ys = [];
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      xs.unshift(Number(row.cells[0].dataset.t) / 1000);
      ys.unshift(Number(row.cells[1].dataset.v));
    });
    return [xs, ys];
  }

  function draw() {
    var box = document.querySelector("[data-chart]");
    if (!box || !window.uPlot) { chart = null; return; }
    var table = document.querySelector(box.dataset.chart);
    if (!table) { return; }
    if (chart && drawn === box && box.firstChild) { chart.setData(read(table)); return; }
    box.textContent = "";
    drawn = box;
    var text = resolved("quiet"), line = resolved("line"), stroke = resolved("link");
    var axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    chart = new window.uPlot({
      width: box.clientWidth || 300, height: 260,
      series: [{ value: function (u, t) { return t === null || t === undefined ? "–" : window.ledgeTime(new Date(t * 1000)); } }, { label: box.dataset.label + (box.dataset.units ? " (" + box.dataset.units + ")" : ""), stroke: stroke, width: 2, points: { size: 5, fill: stroke } }],
      axes: [axis, Object.assign({ size: 64 }, axis)]
    }, read(table), box);
  }

  document.addEventListener("htmx:afterSettle", draw);
  window.addEventListener("resize", function () {
    if (chart && drawn && drawn.isConnected) { chart.setSize({ width: drawn.clientWidth, height: 260 }); }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { drawn = null; draw(); });
  draw();
})();
