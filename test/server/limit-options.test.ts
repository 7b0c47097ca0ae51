/** What a host may set of the limits, and what the engine makes of it. */
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { LIMIT_GROUPS, limitSettings } from '../../src/server/options/limit-options.ts';

const MIB = 1024 * 1024;

const options = Object.entries(LIMIT_GROUPS).flatMap(([group, names]) =>
  Object.entries(names).map(([name, setting]) => [group, name, setting] as const),
);

describe('the limits of a router', () => {
  it('are the defaults where a host sets none', () => {
    const omitted = { request: undefined, tools: { calls: undefined } };
    expect([limitSettings('router'), limitSettings('router', omitted)]).toEqual([DEFAULT_LIMITS, DEFAULT_LIMITS]);
  });

  it.each(options)('%s.%s sets one of them', (group, name, setting) => {
    const settings = limitSettings('router', { [group]: { [name]: 7 } });
    const changed = Object.entries(settings).filter(([key, value]) => value !== Object(DEFAULT_LIMITS)[key]);
    expect(changed).toEqual([[setting, 7]]);
  });

  it.each([
    ...['bodyValues', 'inputItems', 'tools', 'historyTurns', 'eventBytes', 'argumentBytes'],
    ...['followersPerResponse', 'followersPerScope'],
  ])('%s is no option: the bound is the same everywhere', (name) => {
    for (const group of Object.keys(LIMIT_GROUPS))
      expect(() => limitSettings('router', { [group]: { [name]: 1 } })).toThrow(
        `router: limits.${group}: unknown option '${name}'`,
      );
    expect(options.map(([, , setting]) => setting)).not.toContain(name);
  });

  it('an event may be as long as what the model may write, and is never without a bound', () => {
    const eventBytes = [MIB, 64 * MIB, Number.POSITIVE_INFINITY].map(
      (outputBytes) => limitSettings('router', { model: { outputBytes } }).eventBytes,
    );
    expect(eventBytes).toEqual([16 * MIB, 64 * MIB, 16 * MIB]);
  });

  it('eight of the longest bodies fit where a host takes longer ones than the default', () => {
    const bodiesBytes = [{ bodyBytes: 64 * MIB }, { bodyBytes: 64 * MIB, bodiesBytes: 70 * MIB }, { bodyBytes: 1 }].map(
      (request) => limitSettings('router', { request }).bodiesBytes,
    );
    expect(bodiesBytes).toEqual([512 * MIB, 70 * MIB, 256 * MIB]);
  });
});
