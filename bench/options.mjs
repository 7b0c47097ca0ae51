/** The options of a run on the command line, checked before anything starts. */
import { parseArgs } from 'node:util';

const OPTIONS = {
  only: { type: 'string' },
  rounds: { type: 'string' },
  goals: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  'no-pin': { type: 'boolean', default: false },
  'node-flags': { type: 'string', default: '' },
  'upstream-port': { type: 'string', default: '0' },
  peers: { type: 'boolean', default: false },
  peer: { type: 'string', multiple: true, default: [] },
  'peer-pid': { type: 'string', multiple: true, default: [] },
};

/** The time for one scenario, after which no further round is started, in milliseconds. */
const SCENARIO_MS = 20_000;

/** The settings; throws a `TypeError` that names the option and quotes its value. */
export function settingsFrom(args, scenarios) {
  const { values } = parseArgs({ args, options: OPTIONS });
  const names = values.only?.split(',') ?? usual(scenarios, values.goals);
  const unknown = names.find((name) => !Object.hasOwn(scenarios, name));
  if (unknown !== undefined)
    throw new TypeError(`--only: there is no '${unknown}'; known are ${Object.keys(scenarios).join(', ')}`);
  return {
    names,
    quick: values.quick,
    pin: !values['no-pin'],
    nodeFlags: values['node-flags'].split(' ').filter(Boolean),
    rounds: countOf('rounds', values.rounds ?? (values.quick ? '1' : '3'), 1),
    // Requested rounds are all run; otherwise a slow machine runs fewer, so that the run is not longer.
    scenarioMs: values.rounds === undefined ? SCENARIO_MS : Number.POSITIVE_INFINITY,
    upstreamPort: countOf('upstream-port', values['upstream-port'], 0),
    startsPeers: values.peers,
    peers: peersFrom(values.peer, values['peer-pid']),
  };
}

/** The scenarios of a run without `--only`; `--goals` runs those that have goals and take less than an hour. */
function usual(scenarios, forGoals) {
  const isWanted = ({ onlyOnRequest, forGoals: isForGoals }) => (forGoals ? isForGoals !== false : !onlyOnRequest);
  return Object.keys(scenarios).filter((name) => isWanted(scenarios[name]));
}

function countOf(name, text, least) {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new TypeError(`--${name}: must be a whole number from ${least}, got '${text}'`);
}

function peersFrom(peers, pids) {
  const idOf = new Map(pids.map((text) => pairOf('peer-pid', text)));
  return peers
    .map((text) => pairOf('peer', text))
    .map(([name, url]) => ({ name, url, pid: idOf.has(name) ? countOf('peer-pid', idOf.get(name), 1) : undefined }));
}

function pairOf(option, text) {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined) throw new TypeError(`--${option}: must be name=value, got '${text}'`);
  return [name, value];
}
