// Keeps "2 minutes ago" true while a page is open.

const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];
const SOON_SECONDS = 45;
const RECENT_SECONDS = 30 * 86400; // older times are given as their day, which the title begins with
const DAY_LENGTH = "2026-11-28".length;
const REFRESH_MS = 30000;
const JUST_NOW = { en: "just now", "zh-Hans": "刚刚" };

/** "35分钟前" as "35 分钟前": a space between figures and Chinese. */
const spaced = (text) => text.replace(/(\d)(?=[\u4e00-\u9fff])/g, "$1 ");

function refresh() {
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  for (const element of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - new Date(element.dateTime)) / 1000;
    if (seconds > RECENT_SECONDS || seconds < -SOON_SECONDS) {
      element.textContent = seconds < 0 ? element.title : element.title.slice(0, DAY_LENGTH);
      continue;
    }
    const [, unit, size] = STEPS.find(([limit]) => seconds < limit);
    const count = seconds < SOON_SECONDS ? 0 : -Math.round(seconds / size);
    element.textContent = count === 0 && unit === "second" ? (JUST_NOW[document.documentElement.lang] ?? JUST_NOW.en) : spaced(format.format(count, unit));
  }
}

export function start() {
  refresh();
  setInterval(refresh, REFRESH_MS);
}

export { refresh };
