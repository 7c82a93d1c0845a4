// Stores the samples so far, and the colour of each line.

const MOST_SAMPLES = 1200;
const SLOTS = 8;  // colours of lines, see page.css

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
  // A tab may stay open for days, so every other sample of the older half is dropped.
  if (samples.length > MOST_SAMPLES) {
    const half = MOST_SAMPLES / 2;
    samples = samples.filter((_, i) => i >= half || i % 2 === 0);
  }
}

/** The lines that were drawn most recently, newest last. */
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
