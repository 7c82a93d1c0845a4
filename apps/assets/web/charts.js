// Draws the charts with Chart.js.

const perLine = (field) => () => visibleLines().map((line) => ({
  slot: slotOf.get(line),
  label: labels[line],
  value: (sample) => (sample.lines.has(line) ? sample.lines.get(line)[field] : null),
}));
function inFlightOf(sample) {
  let sum = null;
  for (const line of sample.lines.values()) if (known(line.inFlight)) sum = (sum || 0) + line.inFlight;
  return sum;
}
const CHARTS = [
  { id: 'rate', title: 'Throughput', format: formatRate, least: 1e6, series: () => [
    { slot: 0, label: 'file bytes done', fill: true, value: (sample) => sample.rate },
    { slot: 1, label: 'rate cap', dashed: true, value: (sample) => sample.cap },
  ] },
  { id: 'lines', title: 'Rate by path', format: formatRate, least: 1e6, keyed: true, series: perLine('rate') },
  { id: 'rtt', title: 'Round-trip time', format: formatMs, least: 1, keyed: true, series: perLine('rtt') },
  { id: 'loss', title: 'Packet loss', format: formatPercent, least: 0.001, keyed: true, series: perLine('loss') },
  { id: 'degree', title: 'Congestion degree', format: formatDegree, least: 1, keyed: true, series: perLine('degree') },
  { id: 'queue', title: 'On the way', format: formatBytes, least: 1e6, series: () => [
    { slot: 0, label: 'given to the transport, not yet known to be written', fill: true, value: (sample) => sample.queued },
    { slot: 1, label: 'packets in flight', value: inFlightOf },
  ] },
];
const drawn = new Map();

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A round time step that gives at most seven ticks. */
function timeStep(span) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  return steps.find((step) => span / step <= 7) || Math.ceil(span / 7 / 86400) * 86400;
}

function chartOptions(definition) {
  const ticks = { color: css('--quiet'), maxTicksLimit: 6, maxRotation: 0, font: { size: 11 } };
  const grid = { color: css('--grid'), borderColor: css('--edge') };
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    parsing: false,
    normalized: true,
    interaction: { mode: 'index', intersect: false },
    elements: { point: { radius: 0, hitRadius: 8 }, line: { borderWidth: 2, tension: 0 } },
    plugins: {
      legend: { display: false },
      tooltip: { callbacks: {
        title: (items) => (items.length > 0 ? 'after ' + formatClock(items[0].parsed.x) : ''),
        label: (item) => definition.format(item.parsed.y) + '  ' + item.dataset.label,
      } },
    },
    scales: {
      x: { type: 'linear', grid, ticks: { ...ticks, maxTicksLimit: 9, includeBounds: false, callback: formatClock } },
      y: { beginAtZero: true, suggestedMax: definition.least, grid, ticks: { ...ticks, callback: tick(definition.format) } },
    },
  };
}

function buildChart(definition) {
  const card = make('div', 'card');
  card.id = 'chart-' + definition.id;
  const head = make('div', 'chart-head');
  const now = make('span', 'now');
  head.append(make('h2', '', definition.title), now);
  const holder = make('div', 'canvas');
  const canvas = make('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', definition.title + ' over time');
  holder.append(canvas);
  const key = make('ul', 'key');
  card.append(head, holder, key);
  byId('charts').append(card);
  show(card, true);
  const chart = new Chart(canvas, { type: 'line', data: { datasets: [] }, options: chartOptions(definition) });
  return { card, now, key, chart };
}

function dataset(series) {
  const color = css('--line-' + series.slot);
  return {
    label: series.label,
    data: samples.map((sample) => {
      const value = series.value(sample);
      return { x: sample.at, y: known(value) ? value : null };
    }),
    borderColor: color,
    backgroundColor: series.fill ? color + '26' : color,
    fill: series.fill ? 'origin' : false,
    borderDash: series.dashed ? [6, 4] : [],
    pointRadius: samples.length === 1 ? 3 : 0,
  };
}

function drawKey(entry, series) {
  entry.key.replaceChildren();
  if (series.length < 2) return;
  for (const one of series) {
    const item = make('li');
    item.append(make('span', 'swatch line-' + one.slot), document.createTextNode(one.label));
    entry.key.append(item);
  }
}

function drawChart(definition) {
  const last = samples[samples.length - 1];
  const series = definition.series().filter((one) => samples.some((sample) => known(one.value(sample))));
  if (series.length === 0 && !drawn.has(definition.id)) return;
  if (!drawn.has(definition.id)) drawn.set(definition.id, buildChart(definition));
  const entry = drawn.get(definition.id);
  show(entry.card, series.length > 0);
  if (series.length === 0) return;
  entry.chart.data.datasets = series.map(dataset);
  const x = entry.chart.options.scales.x;
  x.min = samples[0].at;
  x.max = Math.max(last.at, x.min + 5);
  x.ticks.stepSize = timeStep(x.max - x.min);
  entry.chart.update('none');
  entry.card.dataset.points = String(samples.length);
  const values = series.map((one) => one.value(last)).filter(known);
  entry.now.textContent = newest.over ? '' : values.length === 1 || (!definition.keyed && known(series[0].value(last)))
    ? definition.format(series[0].value(last)) : '';
  drawKey(entry, series);
}

/** Keeps the order of CHARTS, although their data may arrive in another order. */
function drawCharts() {
  if (samples.length === 0) return;
  for (const definition of CHARTS) drawChart(definition);
  for (const definition of CHARTS) if (drawn.has(definition.id)) byId('charts').append(drawn.get(definition.id).card);
}
