/** Every hostile shape in every place of every body, at an app in a process of its own with a small heap. */
import { type AttackedApp, attackEndpoint, ENDPOINT_NAMES, startAttackedApp } from './bodies-process.ts';
import { tally } from './tally.ts';

const { tried } = tally('bodies');

let app: AttackedApp;

beforeAll(async () => {
  app = await startAttackedApp();
});
afterAll(() => app?.close());

it.each(ENDPOINT_NAMES)(
  '[F-02] %s does no more work than so much for each byte of any body',
  async (endpoint) => {
    const { faults, sent } = await attackEndpoint(app, endpoint, { prefix: '/v1', oneOf: 1 });
    expect(faults).toEqual([]);
    tried(endpoint, sent);
  },
  300_000,
);
