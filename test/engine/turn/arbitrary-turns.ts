/** Arbitrary turns: everything that can go into the machine, and every plan that it can run by. */
import fc from 'fast-check';
import type { TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { ToolOwner } from '../../../src/ports/toolset.ts';
import type { ModelEvent, TurnInput, Usage } from '../../../src/protocol/events.ts';
import type { TopLogProb } from '../../../src/protocol/items.ts';
import { logProbsText } from '../../../src/protocol/json/log-probs.ts';
import { DEFAULT_PLAN, END, START } from './whole-turn.ts';

// Both halves of an emoji stand alone here, as they do when an upstream cuts its text by UTF-16 units.
const unit = fc.constantFrom('a', 'Z', ' ', '\n', '\0', '{', '}', '"', 'é', '中', '😀', '\ud83d', '\ude00');
export const text = fc.string({ unit, maxLength: 8 });

const topLogProb: fc.Arbitrary<TopLogProb> = fc.record({
  token: text,
  logprob: fc.double({ max: 0, noNaN: true, noDefaultInfinity: true }),
  bytes: fc.array(fc.nat(255), { maxLength: 4 }),
});
export const list = fc.array(
  topLogProb.map((top) => ({ ...top, top_logprobs: [top] })),
  { maxLength: 2 },
);
export const logprobs = fc.oneof(list, list.map(logProbsText));

const usage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: fc.nat(),
  input_tokens_details: fc.record({ cached_tokens: fc.nat(), cache_write_tokens: fc.nat() }),
  output_tokens: fc.nat(),
  output_tokens_details: fc.record({ reasoning_tokens: fc.nat() }),
  total_tokens: fc.nat(),
});

const textDelta = fc.record(
  { type: fc.constant('text-delta' as const), text, logprobs },
  { requiredKeys: ['type', 'text'] },
);
const refusalDelta = fc.record({ type: fc.constant('refusal-delta' as const), text });
const reasoningDelta = fc.record({ type: fc.constant('reasoning-delta' as const), text });
// What models write as code, too: text alone seldom becomes the start of a JSON object.
const written = fc.oneof(text, fc.constantFrom('{"co', 'de":"', '{"code": "1 + 1', '"}', '\\n', '\\u00'));
const callDelta = fc.record(
  {
    type: fc.constant('tool-call-delta' as const),
    call: fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.integer() }),
    id: fc.constantFrom('', 'call_a', 'call_b', 'call_c'),
    name: fc.constantFrom('', 'look_up', 'send', 'banned'),
    arguments: written,
  },
  { requiredKeys: ['type', 'call', 'arguments'] },
);
const messageStart = fc.record(
  { type: fc.constant('message-start' as const), phase: fc.constantFrom('commentary', 'final_answer') },
  { requiredKeys: ['type'] },
);
const span = { start_index: fc.nat(), end_index: fc.nat() };
const annotation = fc.record(
  {
    type: fc.constant('annotation' as const),
    annotation: fc.oneof(
      fc.record({ type: fc.constant('url_citation' as const), url: fc.webUrl(), title: text, ...span }),
      fc.record({ type: fc.constant('file_citation' as const), file_id: text, filename: text, index: fc.nat() }),
      fc.record({
        type: fc.constant('container_file_citation' as const),
        container_id: text,
        file_id: text,
        filename: text,
        ...span,
      }),
    ),
    atEnd: fc.boolean(),
  },
  { requiredKeys: ['type', 'annotation'] },
);
const image = fc.record({
  type: fc.constant('image' as const),
  result: fc.base64String({ minLength: 4 }),
  details: fc.constantFrom({}, { output_format: 'png' }),
});
const search = fc.constantFrom('one', 'two');
const searchStart = fc.record({
  type: fc.constant('search-start' as const),
  search,
  action: fc.oneof(
    text.map((query) => ({ type: 'search' as const, query, queries: [query] })),
    fc.webUrl().map((url) => ({ type: 'open_page' as const, url })),
  ),
});
const searchEnd = fc.record(
  {
    type: fc.constant('search-end' as const),
    search,
    failed: fc.boolean(),
    sources: fc.array(fc.record({ type: fc.constant('url' as const), url: fc.webUrl() }), { maxLength: 2 }),
    state: fc.string({ minLength: 1 }),
  },
  { requiredKeys: ['type', 'search', 'failed', 'sources'] },
);
const usageEvent = fc.record({ type: fc.constant('usage' as const), usage });
const finish = fc.record({
  type: fc.constant('finish' as const),
  reason: fc.constantFrom('stop' as const, 'length' as const, 'content_filter' as const),
});

const modelEvent: fc.Arbitrary<ModelEvent> = fc.oneof(
  { weight: 6, arbitrary: textDelta },
  { weight: 2, arbitrary: refusalDelta },
  { weight: 4, arbitrary: reasoningDelta },
  { weight: 8, arbitrary: callDelta },
  { weight: 2, arbitrary: messageStart },
  { weight: 2, arbitrary: annotation },
  { weight: 1, arbitrary: image },
  { weight: 2, arbitrary: searchStart },
  { weight: 2, arbitrary: searchEnd },
  { weight: 1, arbitrary: usageEvent },
  { weight: 2, arbitrary: finish },
);

const toolResult = fc.record(
  {
    type: fc.constant('tool-result' as const),
    index: fc.oneof({ weight: 9, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.integer() }),
    output: fc.oneof(
      text,
      fc.array(
        fc.constantFrom(
          { type: 'input_text', text: 'Seen.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
        ),
        { maxLength: 3 },
      ),
    ),
    failed: fc.boolean(),
    outputs: fc.constantFrom([], [{ type: 'logs' as const, logs: '4' }]),
    found: fc.constantFrom([], [{ modelName: 'send', server: 'mail', tool: { name: 'send', input_schema: {} } }]),
  },
  { requiredKeys: ['type', 'index', 'output', 'failed'] },
);
const toolsListed = fc.record({
  type: fc.constant('tools-listed' as const),
  server: fc.constantFrom('files', 'mail'),
  tools: fc.constantFrom([], [{ name: 'look.up', input_schema: { type: 'object' } }]),
});
const stop = fc.record({
  type: fc.constant('stop' as const),
  reason: fc.constantFrom('max_tool_calls' as const, 'max_tool_iterations' as const, 'repeated_tool_calls' as const),
});

const error = { message: 'The upstream went away.', type: 'server_error', param: null, code: 'upstream_error' };
export const input: fc.Arbitrary<TurnInput> = fc.oneof(
  { weight: 60, arbitrary: modelEvent },
  { weight: 12, arbitrary: toolResult },
  { weight: 3, arbitrary: toolsListed },
  { weight: 2, arbitrary: stop },
  { weight: 4, arbitrary: fc.constant<TurnInput>({ type: 'keepalive' }) },
  { weight: 1, arbitrary: fc.constant<TurnInput>({ type: 'fail', error }) },
  { weight: 1, arbitrary: fc.constant<TurnInput>(END) },
);
const approved = fc.record({
  type: fc.constant('call-approved' as const),
  name: fc.constantFrom('look_up', 'send'),
  arguments: fc.constantFrom('{}', '{"a":1}'),
  approvalRequestId: fc.constant('mcpr_1'),
});
export const inputs = fc
  .tuple(fc.array(approved, { maxLength: 2 }), fc.array(input, { maxLength: 30 }))
  .map(([first, middle]): readonly TurnInput[] => [START, ...first, ...middle]);

const RUN = { container: 'cntr_1', shownAs: 'code_interpreter_call' } as const;
const SEARCH = { shownAs: 'tool_search_call' } as const;
const owner: fc.Arbitrary<ToolOwner> = fc
  .tuple(
    fc.record(
      {
        server: fc.constantFrom('files', 'mail'),
        name: fc.constantFrom('look.up', 'send'),
        needsApproval: fc.constant(true as const),
      },
      { requiredKeys: ['server', 'name'] },
    ),
    fc.constantFrom({}, RUN, SEARCH),
  )
  .map(([tool, run]) => ({ ...tool, ...run }));
const owners = fc.dictionary(fc.constantFrom('', 'look_up', 'send', 'banned'), owner);
export const widePlan = fc
  .record(
    {
      reasoning: fc.constantFrom('summary_text' as const, 'reasoning_text' as const),
      allowedTools: fc.constant<ReadonlySet<string>>(new Set(['', 'look_up', 'send'])),
      queuedEvent: fc.boolean(),
      owners: owners.map((owners): ReadonlyMap<string, ToolOwner> => new Map(Object.entries(owners))),
      ownedAs: fc.constantFrom('mcp_call' as const, 'function_call' as const),
    },
    { requiredKeys: [] },
  )
  .map((chosen): TurnPlan => ({ ...DEFAULT_PLAN, ...chosen }));
const narrowPlan = fc
  .tuple(widePlan, fc.nat(120), fc.nat(20))
  .map(([plan, outputBytes, argumentBytes]): TurnPlan => ({ ...plan, outputBytes, argumentBytes }));
export const anyPlan = fc.oneof({ weight: 3, arbitrary: widePlan }, { weight: 1, arbitrary: narrowPlan });
