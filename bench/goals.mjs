/** The goals of the package, as figures of one run, and whether this run has reached them. */
import { IMPORTS } from './scenarios/start-up.mjs';
import { markdown, median, ratioOf } from './table.mjs';

const EXPRESS = 'ours in Express';
const BASELINE = 'pass-through';

const valuesOf = ({ rows }, key, name) => rows.find((row) => row.name === name)?.values[key] ?? [];

/** The median of one row. */
const middleOf = (key, name) => (report) => median(valuesOf(report, key, name));

/** The median of ours. */
const middle = (key) => middleOf(key, EXPRESS);

const times =
  (key, other, name = EXPRESS) =>
  (report) =>
    ratioOf(valuesOf(report, key, name), valuesOf(report, key, other));

/** The median of the worst row. */
const worst =
  (key) =>
  ({ rows }) =>
    Math.max(...rows.filter(({ values }) => values[key]).map(({ values }) => median(values[key])));

const BASELINE_IN_EXPRESS = 'pass-through in Express';
const CHAT = 'ours, chat';

const cpu = (scenario, key, other, most, name = EXPRESS) => ({
  scenario,
  goal: `${name}, CPU per ${key}, × ${other}`,
  figure: times(key, other, name),
  most,
});

const latency = (goal, key) => ({
  scenario: 'latency',
  goal: `${goal}, × ${BASELINE_IN_EXPRESS}`,
  figure: times(key, BASELINE_IN_EXPRESS),
  most: 1.5,
});

const startUp = (goal, key, name, most) => ({ scenario: 'start-up', goal, figure: middleOf(key, name), most });

/** The goal for Node 24, and that for older versions, whose garbage collector and text decoder take longer. */
const byNode = (on24, on20) => (Number.parseInt(process.versions.node, 10) >= 24 ? on24 : on20);

/** Each with its maximum or its minimum. */
export const GOALS = [
  cpu('burst', 'event', BASELINE, byNode(0.7, 1)),
  cpu('burst', 'event', BASELINE, byNode(0.6, 0.9), CHAT),
  cpu('burst', 'event', 'naive', 0.35),
  cpu('padded', 'event', BASELINE, byNode(1, 1.5)),
  cpu('logprobs', 'event', BASELINE, byNode(1, 1.5)),
  cpu('arguments', 'event', BASELINE, byNode(1, 1.5)),
  cpu('short', 'request', BASELINE_IN_EXPRESS, byNode(1.25, 1.4)),
  cpu('short', 'request', 'naive', 0.35),
  cpu('json', 'request', BASELINE_IN_EXPRESS, byNode(1.6, 2.2)),
  cpu('paced', 'event', BASELINE, byNode(1.05, 1.25)),
  cpu('paced', 'event', 'naive', 0.65),
  cpu('responses-upstream', 'request', 'agentic-server', 1.5),
  ...['responses', 'responses, stored', 'chat', 'messages'].map((name) =>
    cpu('agent-body', 'request', 'express.json and fetch', 0.9, `ours, ${name}`),
  ),
  latency('added to the first delta', 'first'),
  latency('added to an event, p50', 'p50'),
  latency('added to an event, p99', 'p99'),
  { scenario: 'idle', goal: 'RSS per open stream, KB', figure: middle('collected'), most: byNode(50, 35) },
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
    most: 1.5,
  },
  startUp('from the start of a process to its first answer, ms', 'answer', EXPRESS, 1500),
  startUp('import over an empty Express app, CPU ms', 'cpu', IMPORTS, 60),
  startUp('import over an empty Express app, RSS MB', 'mb', IMPORTS, 25),
  { scenario: 'two-processes', goal: 'two, × the answers of one', figure: middle('capacity'), least: 1.9 },
  {
    scenario: 'routing',
    goal: 'balanced, CPU per event, × one server',
    figure: times('event', 'one server', 'balanced'),
    most: 1.03,
  },
  {
    scenario: 'routing-paced',
    goal: 'balanced, CPU per event, × one server',
    figure: times('event', 'one server', 'balanced'),
    most: 1.03,
  },
  cpu('options', 'event', 'no option', 1.8, 'output: [pii()]'),
  {
    scenario: 'options',
    goal: 'inspector, CPU per event, × no option',
    figure: times('event', 'no option', 'inspector'),
    most: 1.05,
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
  const rows = ofThese(reports).map(({ scenario, goal, figure, most, least }) => {
    const value = figure(reports.get(scenario));
    const isReached = least === undefined ? value <= most : value >= least;
    const cells = Number.isFinite(value) ? [value.toFixed(2), isReached ? 'yes' : 'no'] : ['–', 'not measured'];
    return [scenario, goal, least === undefined ? `≤ ${most}` : `≥ ${least}`, ...cells];
  });
  return markdown([['scenario', 'goal', 'bound', 'measured', 'reached'], ...rows]);
}
