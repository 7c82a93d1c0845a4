// Shows the states that PageData::json() writes: one after the other from /events, or the one that a report holds.
// File names, addresses and messages come from the peer: they only ever become text, never markup.
(function () {
'use strict';

const MOST_SAMPLES = 1200;
const SLOTS = 8;  // colours of lines, see page.css

const byId = (id) => document.getElementById(id);
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
function show(element, visible) { element.hidden = !visible; }
const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

// --- numbers with units, decimal prefixes as in the tools' own lines

function scaled(value, units) {
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(digits) + ' ' + units[unit];
}
const formatRate = (v) => scaled(v, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s']);
const formatByteRate = (v) => scaled(v / 8, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);
const formatBytes = (v) => scaled(v, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
const formatCount = (v) => String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, ',');
const formatMs = (v) => (v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2)) + ' ms';
const formatDegree = (v) => v.toFixed(2);
function formatPercent(v) {
  const percent = v * 100;
  if (percent === 0) return '0 %';
  return (percent >= 9.95 ? percent.toFixed(0) : percent >= 0.995 ? percent.toFixed(1) : percent.toPrecision(1)) + ' %';
}
/** Of an axis: 20 ms, not 20.0 ms. */
const tick = (format) => (v) => format(v).replace(/(\.\d*?)0+(?=\s|$)/, '$1').replace(/\.(?=\s|$)/, '');
/** From the least to the most, as one where they are the same. */
function formatSpan(values, format) {
  const least = format(Math.min(...values));
  const most = format(Math.max(...values));
  if (least === most) return most;
  const unit = (text) => text.split(' ')[1];
  return (unit(least) === unit(most) ? least.split(' ')[0] : least) + ' – ' + most;
}
function formatClock(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const two = (n) => String(n).padStart(2, '0');
  if (s >= 86400) return Math.floor(s / 86400) + 'd ' + two(Math.floor((s % 86400) / 3600)) + 'h';
  if (s >= 3600) return Math.floor(s / 3600) + ':' + two(Math.floor((s % 3600) / 60)) + ':' + two(s % 60);
  return Math.floor(s / 60) + ':' + two(s % 60);
}

// --- the samples

let samples = [];
let labels = {};
const slotOf = new Map();  // line to colour

function readSample([at, rate, cap, done, queued, lines]) {
  const sample = { at, rate, cap, done, queued, lines: new Map() };
  for (const [line, lineRate, rtt, loss, degree, inFlight] of lines) {
    sample.lines.set(line, { rate: lineRate, rtt, loss, degree, inFlight });
  }
  return sample;
}

function keep(state) {
  labels = state.labels;
  if (state.history) samples = state.history.map(readSample);
  else samples.push(readSample(state.sample));
  // A tab may stay open for days: of the older ones every other is enough.
  if (samples.length > MOST_SAMPLES) {
    const half = MOST_SAMPLES / 2;
    samples = samples.filter((_, i) => i >= half || i % 2 === 0);
  }
}

/** The lines that were drawn last, newest lines last. */
function visibleLines() {
  const lines = new Set();
  for (let i = samples.length - 1; i >= 0 && lines.size < SLOTS; i -= 1) {
    for (const line of samples[i].lines.keys()) {
      if (lines.size < SLOTS && labels[line] !== undefined) lines.add(line);
    }
  }
  const visible = [...lines].sort((a, b) => a - b);
  for (const line of slotOf.keys()) if (!lines.has(line)) slotOf.delete(line);
  for (const line of visible) {
    if (slotOf.has(line)) continue;
    const taken = new Set(slotOf.values());
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    slotOf.set(line, slot);
  }
  return visible;
}

// --- charts

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

/** Round steps of time, so that there are at most seven. */
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

/** In the order of CHARTS, whichever came to be known first. */
function drawCharts() {
  if (samples.length === 0) return;
  for (const definition of CHARTS) drawChart(definition);
  for (const definition of CHARTS) if (drawn.has(definition.id)) byId('charts').append(drawn.get(definition.id).card);
}

// --- figures

function tile(id, label, value, more) {
  let box = byId('tile-' + id);
  if (!box) {
    box = make('div', 'tile');
    box.id = 'tile-' + id;
    box.append(make('div', 'label', label), make('div', 'value'), make('div', 'more'));
    byId('tiles').append(box);
  }
  box.children[0].textContent = label;
  box.children[1].textContent = value;
  box.children[2].textContent = more || '';
}

/** Of the last fifteen seconds, so that the time left does not jump about. */
function steadyRate() {
  const last = samples[samples.length - 1];
  let first = last;
  for (let i = samples.length - 1; i >= 0 && last.at - samples[i].at <= 15; i -= 1) first = samples[i];
  return last.at > first.at ? (last.done - first.done) / (last.at - first.at) : 0;
}

function timeLeft(now) {
  if (!now.totals_final || now.streaming) return '';
  const bytes = now.bytes_total - now.bytes_done;
  if (bytes === 0) return '0:00';
  const rate = steadyRate();
  return rate > 0 ? formatClock(bytes / rate) : '';
}

function drawTiles(state) {
  const now = state.now;
  const receiver = state.subject.role === 'receiver';
  const over = state.over;
  const more = now.totals_final ? '' : '+';
  if (over) {
    tile('rate', 'Average rate', formatRate(over.rate), state.subject.one_off ? formatByteRate(over.rate) : 'of one transfer');
    tile('done', 'Delivered', formatBytes(over.bytes), formatCount(over.files) + (over.files === 1 ? ' file' : ' files'));
  } else {
    tile('rate', 'Rate', formatRate(now.rate), formatByteRate(now.rate));
    tile('done', 'Done', formatBytes(now.bytes_done),
         now.streaming || (receiver && now.active === 0) ? '' : 'of ' + formatBytes(now.bytes_total) + more);
  }
  if (!over) tile('files', 'Files', formatCount(now.files_done), 'of ' + formatCount(now.files_total) + more);
  else if (byId('tile-files')) byId('tile-files').remove();
  const left = over ? '' : timeLeft(now);
  if (over && state.subject.one_off) tile('time', 'Took', formatClock(over.seconds), '');
  else if (over) tile('time', 'Up for', formatClock(now.at), '');
  else tile('time', 'Time left', left || '–', formatClock(now.at) + (state.subject.one_off ? ' so far' : ' up'));
  const paths = state.transfers.flatMap((transfer) => transfer.paths).filter((path) => path.state !== 'closed');
  if (paths.length > 0 && state.transfers.length === 1) drawPathTiles(paths, receiver, !over);
  else for (const id of ['rtt', 'loss', 'degree']) if (byId('tile-' + id)) byId('tile-' + id).remove();
  const limit = over ? now.limits[0] : now.limited_by;
  if (limit && (over || now.active > 0)) {
    tile('limit', 'Limited by', limit.text, over ? formatPercent(limit.share) + ' of the time' : 'at present');
  } else if (byId('tile-limit')) {
    byId('tile-limit').remove();
  }
}

function drawPathTiles(paths, receiver, live) {
  const rtts = paths.map((path) => path.rtt).filter((rtt) => rtt > 0);
  if (rtts.length > 0) {
    tile('rtt', 'RTT', formatSpan(rtts, formatMs), 'shortest ' + formatMs(Math.min(...paths.map((path) => path.min_rtt))));
  }
  if (receiver) return;
  const sum = (field) => paths.reduce((all, path) => all + path[field], 0);
  tile('loss', 'Loss', formatPercent(sum('packets_lost') / Math.max(1, sum('packets_sent'))),
       formatCount(sum('packets_lost')) + ' of ' + formatCount(sum('packets_sent')));
  const mtr = paths.map((path) => path.mtr).filter((rate) => rate > 0);
  if (live) {
    tile('degree', 'Congestion degree', formatSpan(paths.map((path) => path.cd), formatDegree),
         mtr.length > 0 ? 'MTR ' + formatRate(mtr.reduce((a, b) => a + b, 0)) : '');
  } else if (byId('tile-degree')) {
    byId('tile-degree').remove();
  }
}

function drawProgress(state) {
  const now = state.now;
  const receiver = state.subject.role === 'receiver';
  const hidden = now.streaming || (receiver && now.active === 0 && !state.over);
  const failed = state.over && state.over.code !== 0;
  let share = now.bytes_total > 0 ? now.bytes_done / now.bytes_total : 0;
  if (!now.totals_final || (now.phase !== 'done' && !(state.over && !failed))) share = Math.min(share, 0.999);
  if (state.over && !failed) share = 1;
  show(byId('progress'), !hidden && !(receiver && !state.subject.one_off && state.over));
  byId('bar').setAttribute('aria-valuenow', String(Math.floor(share * 100)));
  byId('bar-done').style.width = (share * 100).toFixed(1) + '%';
  byId('percent').textContent = (share * 100).toFixed(1) + ' %';
  byId('amounts').textContent = formatBytes(now.bytes_done) + ' of ' + formatBytes(now.bytes_total) +
    (now.totals_final ? '' : '+') + (now.bytes_kept > 0 ? ', ' + formatBytes(now.bytes_kept) + ' were there before' : '');
  byId('name').textContent = state.over ? '' : now.name;
  document.body.classList.toggle('ended-well', Boolean(state.over) && !failed);
  document.body.classList.toggle('ended-badly', Boolean(failed));
  document.title = (hidden ? '' : Math.floor(share * 100) + ' % · ') +
    formatRate(state.over ? state.over.rate : now.rate) + ' · ' + state.subject.tool;
}

const PHASES = { connect: 'connecting', transfer: 'transferring', flush: 'flushing', verify: 'verifying', done: 'done' };
function phaseOf(state) {
  const now = state.now;
  if (state.over) return state.over.code === 0 ? 'done' : state.over.reason;
  if (state.subject.role === 'receiver' && now.active === 0) return 'waiting for senders';
  if (now.active > 1) return formatCount(now.active) + ' transfers';
  if (now.silent > 0) return 'no answer for ' + formatClock(now.silent);
  const phase = PHASES[now.phase] || now.phase;
  return now.phase === 'transfer' && !now.totals_final && !now.streaming ? phase + ', scanning' : phase;
}

function drawHeading(state) {
  const subject = state.subject;
  byId('tool').textContent = subject.tool;
  byId('where').textContent = subject.where;
  byId('about').textContent = 'started ' + new Date(subject.started * 1000).toLocaleString() + ', version ' + subject.version;
  const pill = byId('state');
  pill.textContent = phaseOf(state);
  pill.className = 'pill ' + (state.over ? (state.over.code === 0 ? 'good' : 'bad') : state.now.active > 0 ? 'running' : '');
  if (state.over) notify(state.over.error || '');
}

function notify(text) {
  byId('notice').textContent = text;
  show(byId('notice'), text !== '');
}

function drawVerdict(state) {
  const limits = state.now.limits;
  show(byId('verdict'), limits.length > 0);
  byId('limit-bar').replaceChildren();
  byId('limit-list').replaceChildren();
  limits.forEach((limit, i) => {
    const color = 'line-' + (i % SLOTS);
    const part = make('div', color);
    part.style.flexGrow = String(limit.share);
    byId('limit-bar').append(part);
    const item = make('li');
    item.append(make('span', 'swatch ' + color), make('b', '', limit.text), ' ' + Math.round(limit.share * 100) + ' % of the time');
    byId('limit-list').append(item);
  });
}

// --- tables

/** columns: [heading, class, text of a row]; a class "words" is left-aligned. */
function drawTable(id, rows, columns) {
  const used = columns.filter(([, , text]) => rows.some((row) => text(row) !== ''));
  const head = make('tr');
  for (const [heading, className] of used) head.append(make('th', className, heading));
  const body = make('tbody');
  for (const row of rows) {
    const line = make('tr');
    for (const [, className, text] of used) line.append(make('td', className, text(row)));
    body.append(line);
  }
  const top = make('thead');
  top.append(head);
  byId(id).replaceChildren(top, body);
}

const percentDone = (transfer) => (transfer.bytes_total > 0 && transfer.totals_final && !transfer.streaming
  ? Math.floor(100 * transfer.bytes_done / transfer.bytes_total) + ' %' : '');
function drawTransfers(state) {
  const many = state.subject.role === 'receiver' && !state.subject.one_off && state.transfers.length > 0;
  show(byId('senders'), many);
  if (!many) return;
  drawTable('transfers', state.transfers, [
    ['from', 'words', (t) => t.peer],
    ['phase', 'words', (t) => PHASES[t.phase] || t.phase],
    ['rate', '', (t) => formatRate(t.rate)],
    ['done', '', (t) => formatBytes(t.bytes_done)],
    ['', '', percentDone],
    ['files', '', (t) => formatCount(t.files_done) + ' of ' + formatCount(t.files_total)],
    ['limited by', 'words', (t) => (t.limited_by ? t.limited_by.text : '')],
    ['file', 'words long', (t) => t.name],
  ]);
  const hidden = state.now.active - state.transfers.length;
  show(byId('transfers-more'), hidden > 0);
  byId('transfers-more').textContent = 'and ' + formatCount(hidden) + ' more, which are slower';
}

function drawPaths(state) {
  const one = state.transfers.length === 1;
  const paths = one ? state.transfers[0].paths : [];
  show(byId('paths-card'), paths.length > 0);
  if (paths.length === 0) return;
  const some = (value, format) => (known(value) && value > 0 ? format(value) : '');
  drawTable('paths', paths, [
    ['path', '', (p) => String(p.id)],
    ['from', 'words', (p) => p.local],
    ['to', 'words', (p) => p.remote],
    ['state', 'words', (p) => p.state + (p.standby ? ', standby' : '')],
    ['rate', '', (p) => formatRate(p.rate)],
    ['RTT', '', (p) => some(p.rtt, formatMs)],
    ['shortest', '', (p) => some(p.min_rtt, formatMs)],
    ['lost', '', (p) => (known(p.packets_lost) ? formatPercent(p.packets_lost / Math.max(1, p.packets_sent)) : '')],
    ['degree', '', (p) => (known(p.cd) ? formatDegree(p.cd) : '')],
    ['MTR', '', (p) => some(p.mtr, formatRate)],
    ['in flight', '', (p) => (known(p.in_flight) ? formatBytes(p.in_flight) : '')],
    ['window', '', (p) => some(p.window, formatBytes)],
    ['datagram', '', (p) => formatCount(p.datagram) + ' B'],
    ['reinjected', '', (p) => some(p.reinjected, formatBytes)],
  ]);
}

function drawEnded(state) {
  show(byId('ended-card'), state.ended.length > 0);
  if (state.ended.length > 0) {
    byId('ended-count').textContent = formatCount(state.ended_count) +
      (state.ended_count > state.ended.length ? ', the last ' + state.ended.length + ' here' : '');
    drawTable('ended', state.ended, [
      ['from', 'words', (e) => e.peer],
      ['after', '', (e) => formatClock(e.at)],
      ['result', 'words', (e) => (e.code === 0 ? 'ok' : e.reason)],
      ['files', '', (e) => formatCount(e.files)],
      ['size', '', (e) => formatBytes(e.bytes)],
      ['took', '', (e) => e.seconds.toFixed(1) + ' s'],
      ['rate', '', (e) => formatRate(e.rate)],
      ['', 'words long', (e) => e.error || e.limits],
    ]);
  }
  const failed = state.over ? state.over.failed : [];
  show(byId('failed-card'), failed.length > 0);
  if (failed.length === 0) return;
  byId('failed-count').textContent = formatCount(state.over.failed_count) +
    (state.over.failed_count > failed.length ? ', the first ' + failed.length + ' here' : '');
  drawTable('failed', failed, [['file', 'words long', (f) => f.path], ['why', 'words long', (f) => f.reason]]);
}

let newest = null;
function draw(state) {
  newest = state;
  drawHeading(state);
  drawProgress(state);
  drawTiles(state);
  drawVerdict(state);
  drawCharts();
  drawTransfers(state);
  drawPaths(state);
  drawEnded(state);
}

function restyle() {
  for (const definition of CHARTS) {
    if (drawn.has(definition.id)) drawn.get(definition.id).chart.options = chartOptions(definition);
  }
  if (newest) drawCharts();
}

function watch() {
  const events = new EventSource('events');
  events.addEventListener('state', (event) => {
    notify('');
    const state = JSON.parse(event.data);
    keep(state);
    draw(state);
    if (state.over) events.close();
  });
  events.addEventListener('error', () => {
    notify('The tool does not answer: it has ended, or the line to it is down. Trying again.');
  });
}

window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
const inlined = byId('data');
if (inlined) {
  const state = JSON.parse(inlined.textContent);
  keep(state);
  draw(state);
} else {
  watch();
}
}());
