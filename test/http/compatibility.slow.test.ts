/** What docs/compatibility.md says of each field of a request and of a response is what happens. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { compatibilityRows } from '../support/compatibility.ts';
import { holding, holdsAt, isNoted, isRefused, outcomeOf, type Wire } from './compatibility-app.ts';

/** How a field is sent, and where it is found again. */
interface Sample {
  readonly value: unknown;
  /** The rest of the request. */
  readonly beside?: JsonObject;
  /** The path in a Chat Completions request, and in one of the Responses API. Default: the field's own. */
  readonly chat?: string;
  readonly responses?: string;
  /** What stands there. Default: the value. */
  readonly written?: unknown;
  /** What stands in the response. Default: the value. */
  readonly echo?: unknown;
  /** The wires that have the field. Default: both. */
  readonly only?: Wire;
}

const SCHEMA = { type: 'object', properties: {}, additionalProperties: false };
const FORMAT = { type: 'json_schema', name: 'note', schema: SCHEMA, strict: true };
const LOOK = { type: 'function', name: 'look', description: 'Looks.', parameters: SCHEMA, strict: true };
const CACHE = { mode: 'explicit', ttl: '30m' };
/** Where no model server has anything. */
const NOWHERE = 'nowhere';

const SAMPLES: Readonly<Record<string, Sample>> = {
  access_programs: { value: { cyber: 'standard' } },
  background: { value: true, beside: { store: true } },
  context_management: { value: [{ type: 'compaction', compact_threshold: 100_000 }] },
  image: { value: { context_compression: 'disabled' } },
  include: { value: ['code_interpreter_call.outputs'] },
  input: { value: 'Hi.', chat: 'messages.0.content', responses: 'input.0.content.0.text' },
  instructions: { value: 'Be brief.', chat: 'messages.0.content' },
  max_output_tokens: { value: 99, chat: 'max_tokens' },
  max_tool_calls: { value: 3 },
  metadata: { value: { topic: 'a' } },
  model: { value: 'fake-model' },
  moderation: { value: { model: 'omni', policy: { input: { mode: 'block' } } } },
  parallel_tool_calls: { value: false, beside: { tools: [LOOK] } },
  prompt: { value: { id: 'pmpt_1' } },
  prompt_cache_key: { value: 'key' },
  prompt_cache_options: { value: CACHE },
  'prompt_cache_options.comparison_response_id': { value: 'resp_1' },
  'prompt_cache_options.mode': { value: 'explicit' },
  'prompt_cache_options.prewarm': { value: true },
  'prompt_cache_options.ttl': { value: '12h' },
  prompt_cache_retention: { value: '24h' },
  reasoning: {
    value: { effort: 'low' },
    chat: 'reasoning_effort',
    responses: 'reasoning.effort',
    written: 'low',
    echo: { effort: 'low', summary: null },
  },
  'reasoning.context': { value: 'all_turns' },
  'reasoning.effort': { value: 'low', chat: 'reasoning_effort' },
  'reasoning.generate_summary': { value: 'auto' },
  'reasoning.mode': { value: 'pro' },
  'reasoning.summary': { value: 'auto', only: 'responses' },
  safety_identifier: { value: 'user-1' },
  service_tier: { value: 'flex' },
  store: { value: false, chat: NOWHERE, responses: NOWHERE },
  stream: { value: true, chat: NOWHERE, responses: NOWHERE },
  stream_options: { value: { include_obfuscation: false } },
  'stream_options.include_obfuscation': { value: true, beside: { stream: true } },
  temperature: { value: 0.5 },
  text: {
    value: { verbosity: 'low' },
    chat: 'verbosity',
    responses: 'text.verbosity',
    written: 'low',
    echo: { format: { type: 'text' }, verbosity: 'low' },
  },
  'text.format': {
    value: FORMAT,
    chat: 'response_format.json_schema.schema',
    responses: 'text.format.schema',
    written: SCHEMA,
    echo: { ...FORMAT, description: null },
  },
  'text.verbosity': { value: 'low', chat: 'verbosity' },
  tool_choice: { value: 'required', beside: { tools: [LOOK] } },
  tools: { value: [LOOK], chat: 'tools.0.function.name', responses: 'tools.0.name', written: 'look' },
  top_logprobs: { value: 3 },
  top_p: { value: 0.5 },
  truncation: { value: 'auto' },
  user: { value: 'user-1' },
};

/** They name something of the store's or of the host's, and the tests that are cited for them show it. */
const CONTINUATIONS: ReadonlySet<string> = new Set(['conversation', 'previous_response_id', 'prompt']);
const CHECKED: ReadonlySet<string> = new Set(['passed on', 'echoed', 'noted', 'refused']);
const ROWS = compatibilityRows('Request fields')
  .filter(({ name }) => !CONTINUATIONS.has(name))
  .map(({ name, claims: [claims = []] }) => [name, claims.join(', ')] as const);

/** The request with the value at the field's path. */
function bodyWith(name: string, { value, beside = {} }: Sample): JsonObject {
  const [field = '', inner] = name.split('.');
  return { ...beside, [field]: inner === undefined ? value : { [inner]: value } };
}

async function claimsShown(name: string, sample: Sample, wire: Wire): Promise<readonly string[]> {
  const { value, written = value, echo = value, only = wire } = sample;
  const outcome = await outcomeOf(bodyWith(name, sample), wire);
  return holding({
    'passed on': only !== wire || holdsAt(outcome.sent, sample[wire] ?? name, written),
    echoed: holdsAt(outcome.body, name, echo),
    noted: isNoted(outcome, name),
    refused: isRefused(outcome, name),
  });
}

describe.each(['chat', 'responses'] as const)('a request field, over a model server of the API %s', (wire) => {
  it.each(ROWS)('[Q-09] %s is %s', async (name, claims) => {
    const sample = SAMPLES[name];
    if (!sample) throw new Error(`There is no sample of '${name}'`);
    const shown = await claimsShown(name, sample, wire);
    expect(shown.toSorted()).toEqual(
      claims
        .split(', ')
        .filter((claim) => CHECKED.has(claim))
        .toSorted(),
    );
  });
});

describe('the response fields', () => {
  it('[Q-09] are those that the page says, where the request has all fields', async () => {
    const sent = Object.entries(SAMPLES).filter(([name]) => !name.includes('.') && !UNSENT.has(name));
    const request = Object.fromEntries(sent.map(([name, { value }]) => [name, value]));
    const { body } = await outcomeOf(request);
    const rows = compatibilityRows('Response fields').filter(({ name }) => !CONTINUATIONS.has(name));
    const produced = rows.filter(({ name }) => Object.hasOwn(body, name)).map(({ name }) => name);
    expect(produced).toEqual(rows.filter(({ claims }) => claims[0]?.[0] === 'produced').map(({ name }) => name));
  });

  it('[Q-09] are no others than those, and the three of Open Responses', async () => {
    const listed = new Set(compatibilityRows('Response fields').map(({ name }) => name));
    const { body } = await outcomeOf({});
    const others = Object.keys(body).filter((name) => !listed.has(name));
    expect(others.toSorted()).toEqual(['frequency_penalty', 'presence_penalty', 'store']);
  });
});

/** Refused, or answered before the end. */
const UNSENT: ReadonlySet<string> = new Set(['prompt', 'background']);
