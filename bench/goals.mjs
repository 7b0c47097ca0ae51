/** What the package wants to reach, as figures of one run, and whether this run has reached it. */
import { markdown, median, ratioOf } from './table.mjs';

const EXPRESS = 'ours in Express';
const YARDSTICK = 'pass-through';

const valuesOf = ({ rows }, key, name) => rows.find((row) => row.name === name)?.values[key] ?? [];

/** The median of ours. */
const middle = (key) => (report) => median(valuesOf(report, key, EXPRESS));

const times =
  (key, other, name = EXPRESS) =>
  (report) =>
    ratioOf(valuesOf(report, key, name), valuesOf(report, key, other));

/** The median of the worst row. */
const worst =
  (key) =>
  ({ rows }) =>
    Math.max(...rows.filter(({ values }) => values[key]).map(({ values }) => median(values[key])));

const cpu = (scenario, key, other, most, name = EXPRESS) => ({
  scenario,
  goal: `${name}, CPU per ${key}, × ${other}`,
  figure: times(key, other, name),
  most,
});

/** Each with the most that it may be. */
export const GOALS = [
  cpu('burst', 'event', YARDSTICK, 1.2),
  cpu('burst', 'event', 'naive', 0.35),
  cpu('burst', 'event', YARDSTICK, 1.1, 'ours, chat'),
  cpu('padded', 'event', YARDSTICK, 1.7),
  cpu('logprobs', 'event', YARDSTICK, 1.7),
  cpu('short', 'request', 'pass-through in Express', 2),
  cpu('short', 'request', 'naive', 0.35),
  cpu('paced', 'event', YARDSTICK, 1.2),
  cpu('paced', 'event', 'naive', 0.65),
  { scenario: 'latency', goal: 'added time to the first delta, ms', figure: middle('first'), most: 0.3 },
  { scenario: 'latency', goal: `added to an event, p50, × ${YARDSTICK}`, figure: times('p50', YARDSTICK), most: 1.3 },
  { scenario: 'idle', goal: 'RSS per open stream, KB', figure: middle('collected'), most: 45 },
  { scenario: 'stalled', goal: 'RSS, MB', figure: middle('late'), most: 150 },
  { scenario: 'stalled', goal: 'growth from the first look to the second, %', figure: middle('growth'), most: 5 },
  {
    scenario: 'history',
    goal: 'more round trips in a late turn than in the second',
    figure: worst('moreTrips'),
    most: 0,
  },
  {
    scenario: 'history',
    goal: 'CPU beyond reading and sending in a late turn, × the first turn’s',
    figure: worst('overheads'),
    most: 2,
  },
  { scenario: 'long', goal: 'slope of RSS, in standard errors', figure: middle('errors'), most: 2.3 },
];

const ofThese = (reports) => GOALS.filter(({ scenario }) => reports.has(scenario));

/** Whether there are goals for any of these scenarios. */
export function hasGoals(reports) {
  return ofThese(reports).length > 0;
}

/** The table of the goals of these scenarios; `reports` by the scenario's name. */
export function verdict(reports) {
  const rows = ofThese(reports).map(({ scenario, goal, figure, most }) => {
    const value = figure(reports.get(scenario));
    const told = Number.isFinite(value) ? [value.toFixed(2), value <= most ? 'yes' : 'no'] : ['–', 'not measured'];
    return [scenario, goal, `≤ ${most}`, ...told];
  });
  return markdown([['scenario', 'goal', 'at most', 'measured', 'reached'], ...rows]);
}
