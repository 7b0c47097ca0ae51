/** Chains of responses that are longer than the server's memory: it must refuse them, and survive. */
import type { ResponseStore, StoredResponse } from '../../src/index.ts';
import { json } from './race-nodes.ts';
import { codeIn, counted, type SmallApp, startSmallApp } from './small-app.ts';
import { tally } from './tally.ts';

const { tried } = tally('long histories');

let app: SmallApp;

beforeAll(async () => {
  app = await startSmallApp(seed);
});
afterAll(() => app?.close());

/** Two chains of responses of 1 MiB: `fits_30` can be continued, `long_100` cannot. */
function seed(store: ResponseStore): void {
  for (const [name, length] of [
    ['fits', 30],
    ['long', 100],
  ] as const)
    for (let turn = 1; turn <= length; turn += 1) store.put(turnOf(name, turn));
}

function turnOf(name: string, turn: number): StoredResponse {
  const content = Array.from({ length: 1000 }, () => ({ type: 'input_text', text: 'x'.repeat(1000) }));
  return {
    scope: 'anonymous',
    id: `${name}_${turn}`,
    ...(turn > 1 && { previousId: `${name}_${turn - 1}` }),
    createdAt: 0,
    input: [{ type: 'message', role: 'user', id: `msg_${name}${turn}`, content }],
    output: [],
    resource: {},
  };
}

it('[F-05] answers 12 continuations of a long chain at the same time, and refuses those of one that is too long', async () => {
  const continued = (id: string) =>
    json(`${app.url}/responses`, 'POST', { model: 'm', input: 'Hi', previous_response_id: id });
  for (const [id, outcome] of [
    ['fits_30', '200 '],
    ['long_100', '400 history_too_long'],
  ] as const) {
    const answers = await Promise.all(Array.from({ length: 12 }, () => continued(id)));
    expect(counted(answers.map(({ status, body }) => `${status} ${codeIn(body) ?? ''}`))).toEqual({ [outcome]: 12 });
    tried(`a continuation of ${id}`, 12);
  }
  await app.expectSmall();
});
