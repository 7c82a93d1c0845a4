// Draws heading, progress, tiles and verdict.

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

/** Rate over the last fifteen seconds, which keeps the remaining time steady. */
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
  if (paths.length > 0 && state.transfers.length === 1) drawPathTiles(paths, !state.transfers[0].sends, !over);
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
  if (state.subject.role === 'receiver' && now.active === 0) return state.subject.one_off ? 'waiting for a sender' : 'waiting for transfers';
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
