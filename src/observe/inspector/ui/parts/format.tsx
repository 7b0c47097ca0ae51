/** Numbers, times and texts as people read them. */

const numbers = new Intl.NumberFormat('en');

export function formatCount(value: number | null): string {
  return value === null ? '–' : numbers.format(value);
}

/** Milliseconds, with the unit that fits. */
export function formatMs(value: number | null): string {
  if (value === null) return '–';
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1000)} s`;
}

export function formatDollars(value: number | null): string {
  return value === null ? '–' : `$${value.toFixed(value < 0.01 ? 5 : 3)}`;
}

export function formatBytes(value: number): string {
  if (value < 1024) return `${value} B`;
  return value < 1024 * 1024 ? `${(value / 1024).toFixed(0)} KiB` : `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The time, with the day unless it is today. */
export function formatTime(at: number): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

const HIDDEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with characters that reverse or hide others made visible: they could make one text look like another. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `⟨U+${character.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

/** A long id, shortened in the middle. */
export function shortenId(id: string, length = 18): string {
  return showHidden(id.length <= length ? id : `${id.slice(0, length - 5)}…${id.slice(-4)}`);
}

/** JSON in lines; other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The parsed JSON if it is an object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
