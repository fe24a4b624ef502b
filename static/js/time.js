// Keeps "2 minutes ago" true while a page is open.

const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];
const SOON_SECONDS = 45;
const REFRESH_MS = 30000;

function refresh() {
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  for (const element of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - new Date(element.dateTime)) / 1000;
    const [, unit, size] = STEPS.find(([limit]) => seconds < limit);
    const count = seconds < SOON_SECONDS ? 0 : -Math.round(seconds / size);
    element.textContent = format.format(count, unit);
  }
}

export function start() {
  refresh();
  setInterval(refresh, REFRESH_MS);
}

export { refresh };
