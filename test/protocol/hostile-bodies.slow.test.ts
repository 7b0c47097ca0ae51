/** Bodies that are cheap to send must not be dear to read: `test/hostile/bodies*.test.ts` try all of them, and larger ones. */
import { type OpenResponses, openResponses } from '../../src/core.ts';
import { attackedOptions, type EndpointName, excessOf, SHAPES, type ShapeName } from '../support/hostile-bodies.ts';
import { endCounting, workOf } from '../support/work.ts';

const BYTES = 400_000;

afterAll(endCounting);

const options = attackedOptions();
const apis: Readonly<Record<string, OpenResponses<Request>>> = {
  responses: openResponses(options),
  chat: openResponses(options),
  tokligence: openResponses({ ...options, dialect: 'tokligence' }),
};

async function answer(path: string, text: string): Promise<{ readonly status: number; readonly body: string }> {
  const api = path.startsWith('/chat') ? apis.chat : path.includes('submit') ? apis.tokligence : apis.responses;
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  const headers = { 'content-type': 'application/json' };
  const reply = await api?.handle({ method: 'POST', path, headers, bytes, signal: new AbortController().signal });
  return { status: reply?.status ?? 0, body: typeof reply?.body === 'string' ? reply.body : '' };
}

let ids: { readonly response: string; readonly conversation: string };

beforeAll(async () => {
  const tools = [{ type: 'function', name: 'call' }];
  const response = await answer('/responses', JSON.stringify({ model: 'm', input: 'Hi.', tools }));
  const conversation = await answer('/conversations', '{}');
  ids = { response: JSON.parse(response.body).id, conversation: JSON.parse(conversation.body).id };
});

const ATTACKS: readonly (readonly [EndpointName, ShapeName, string])[] = [
  ['POST /responses', 'zeros', '{"model":"m","input":@}'],
  ['POST /responses', 'empty objects', '{"model":"m","input":[{"type":"reasoning","summary":@}]}'],
  ['POST /responses', 'zeros', '{"model":"m","input":"a","context_management":@}'],
  ['POST /responses', 'many keys', '{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":@}]}'],
  ['POST /responses', 'many keys', '{"model":"m","input":[{"role":"user","content":"a","x":@}]}'],
  ['POST /responses', 'outputs without calls', '{"model":"m","input":@}'],
  ['POST /responses', 'calls', '{"model":"m","input":@}'],
  [
    'POST /responses',
    'tools',
    '{"model":"m","input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","tools":@}}',
  ],
  ['POST /responses/input_tokens', 'zeros', '{"input":[{"type":"reasoning","summary":@}]}'],
  ['POST /responses/compact', 'empty objects', '{"model":"m","input":[{"type":"reasoning","summary":@}]}'],
  ['POST /conversations', 'many keys', '{"metadata":@}'],
  ['POST /conversations/:id', 'pairs of texts', '{"metadata":@}'],
  ['POST /conversations/:id/items', 'zeros', '{"items":@}'],
  ['POST /responses/:id/submit_tool_outputs', 'zeros', '{"tool_outputs":@}'],
  ['POST /responses/:id/submit_tool_outputs', 'outputs to submit', '{"tool_outputs":@}'],
  ['POST /chat/completions', 'zeros', '{"model":"m","messages":@}'],
  ['POST /chat/completions', 'empty objects', '{"model":"m","messages":[{"role":"user","content":"a"}],"tools":@}'],
  ['POST /chat/completions', 'many keys', '{"model":"m","messages":[{"role":"user","content":"a"}],"x":@}'],
];

it.each(ATTACKS)(
  '[F-02] %s does no more work than so much for each byte of %s in %s',
  async (endpoint, shape, place) => {
    const text = place.replace('@', () => SHAPES[shape](BYTES));
    const id = endpoint.includes('conversations') ? ids.conversation : ids.response;
    const path = endpoint.replace('POST ', '').replace(':id', id);
    let value = { status: 0, body: '' };
    const work = await workOf(async () => {
      value = await answer(path, text);
    });
    expect([value.status < 500, value.body.length < text.length * 4, excessOf(work, text.length)]).toEqual([
      true,
      true,
      [],
    ]);
  },
);
