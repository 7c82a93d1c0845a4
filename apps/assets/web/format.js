// Formats numbers with units. Prefixes are decimal, as in the tools' output.

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

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
/** Label of an axis tick: 20 ms instead of 20.0 ms. */
const tick = (format) => (v) => format(v).replace(/(\.\d*?)0+(?=\s|$)/, '$1').replace(/\.(?=\s|$)/, '');
/** The range from least to most; one value if both are the same. */
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
