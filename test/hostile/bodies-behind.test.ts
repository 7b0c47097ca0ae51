/** Hostile shapes in bodies of routers with tools, of routers behind a parser, and of proxies behind middlewares. */
import { type AttackedApp, attackEndpoint, startAttackedApp } from './bodies-process.ts';
import { tally } from './tally.ts';

const { tried } = tally('bodies behind other things');

let app: AttackedApp;

beforeAll(async () => {
  app = await startAttackedApp();
});
afterAll(() => app?.close());

/** One body in so many is tried: the same code behind another endpoint does not need all of them. */
const CASES = [
  ['POST /responses', '/tools', 3],
  ['POST /messages', '/tools', 2],
  ['POST /messages', '/proxy', 1],
  ['POST /responses', '/parsed', 3],
  ['POST /responses', '/proxy', 1],
  ['POST /chat/completions', '/parsed', 3],
  ['POST /chat/completions', '/proxy', 1],
] as const;

it.each(CASES)(
  '[F-02] %s below %s does no more work than so much for each byte of any body',
  async (endpoint, prefix, oneOf) => {
    const { faults, sent } = await attackEndpoint(app, endpoint, { prefix, oneOf });
    expect(faults).toEqual([]);
    tried(`${prefix} ${endpoint}`, sent);
  },
  300_000,
);
