// Shows the states that PageData::json() writes: a sequence from /events, or the single state in a report.

let newest = null;
function draw(state) {
  newest = state;
  drawHeading(state);
  drawProgress(state);
  drawTiles(state);
  drawVerdict(state);
  drawCharts();
  drawJobs(state);
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
    notify('The tool does not answer: it has ended, or the connection to it is lost. Trying again.');
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
