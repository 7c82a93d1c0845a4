// Draws the tables.

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
    ['', 'words', (t) => (t.sends ? 'to ' : 'from ') + t.peer],
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

function drawJobs(state) {
  show(byId('jobs-card'), state.jobs.length > 0);
  if (state.jobs.length === 0) return;
  drawTable('jobs', state.jobs, [
    ['job', 'words', (j) => j.name],
    ['shards', '', (j) => formatCount(j.shards)],
    ['done', '', (j) => formatCount(j.done)],
    ['running', '', (j) => formatCount(j.running)],
    ['failed', '', (j) => (j.failed > 0 ? formatCount(j.failed) : '')],
    ['rate', '', (j) => formatRate(j.rate_bps)],
    ['arrived', '', (j) => formatBytes(j.bytes_done) + ' of ' + formatBytes(j.bytes_total)],
    ['files and parts', '', (j) => formatCount(j.files_done)],
    ['slowest', '', (j) => (j.running > 0 ? j.slowest + '/' + j.shards : '')],
  ]);
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
      ['', 'words', (e) => e.whose],
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
