/** What a Messages server takes: a strict schema, and the rules between messages that its documentation and its refusals state. */
import { z } from 'zod';
import { law, same } from '../support/law.ts';

const text = z.string().regex(/\S/, 'a text says something');
const cached = { cache_control: z.strictObject({ type: z.literal('ephemeral') }).optional() };
const id = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const url = z.strictObject({ type: z.literal('url'), url: z.url() });
const base64 = (mediaType: z.ZodType<string>) =>
  z.strictObject({ type: z.literal('base64'), media_type: mediaType, data: z.base64() });

const textBlock = z.strictObject({ type: z.literal('text'), text, ...cached });
const citingBlock = z.strictObject({
  type: z.literal('text'),
  text,
  citations: z.array(z.looseObject({ type: z.string() })).min(1),
});
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.union([url, base64(z.string().regex(/^image\//))]),
  ...cached,
});
const documentBlock = z.strictObject({
  type: z.literal('document'),
  source: z.union([
    url,
    base64(z.literal('application/pdf')),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
  ]),
  title: text.optional(),
  ...cached,
});
const resultBlock = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: id,
  content: z
    .array(z.union([textBlock, imageBlock, documentBlock]))
    .min(1)
    .optional(),
  is_error: z.literal(true).optional(),
  ...cached,
});
const callBlock = z.strictObject({
  type: z.literal('tool_use'),
  id,
  name: id,
  input: z.record(z.string(), z.unknown()),
  ...cached,
});
const caller = { caller: z.looseObject({ type: z.string() }).optional() };
const useBlock = z.strictObject({
  type: z.literal('server_tool_use'),
  id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
  name: z.enum(['web_search', 'web_fetch']),
  input: z.record(z.string(), z.unknown()),
  ...caller,
  ...cached,
});
const answerBlock = z.strictObject({
  type: z.enum(['web_search_tool_result', 'web_fetch_tool_result']),
  tool_use_id: z.string(),
  content: z.union([
    z.array(z.looseObject({ type: z.literal('web_search_result') })),
    z.looseObject({ type: z.string().regex(/^web_(fetch_result|(search|fetch)_tool_result_error)$/) }),
  ]),
  ...caller,
  ...cached,
});
const thoughtBlocks = [
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string().min(1) }),
] as const;

const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.array(z.union([textBlock, imageBlock, documentBlock, resultBlock])).min(1),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.array(z.union([textBlock, citingBlock, callBlock, useBlock, answerBlock, ...thoughtBlocks])).min(1),
  }),
]);

const display = { display: z.enum(['summarized', 'omitted']).optional() };
const single = { disable_parallel_tool_use: z.literal(true).optional() };

const request = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  stream: z.literal(true),
  system: z.array(textBlock).min(1).optional(),
  messages: z.array(message),
  tools: z
    .array(
      z.union([
        z.strictObject({
          name: id,
          description: z.string().optional(),
          input_schema: z.looseObject({ type: z.literal('object') }),
          ...cached,
        }),
        z.looseObject({
          type: z.string().regex(/_\d{8}$/),
          name: id,
          input_schema: z.undefined().optional(),
          ...cached,
        }),
      ]),
    )
    .min(1)
    .optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...single }),
      z.strictObject({ type: z.literal('any'), ...single }),
      z.strictObject({ type: z.literal('tool'), name: id, ...single }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('disabled') }),
      z.strictObject({ type: z.literal('adaptive'), ...display }),
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), ...display }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) }).optional(),
    })
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  metadata: z.strictObject({ user_id: z.string() }).optional(),
});

/** A body that a Messages server takes. */
export type MessagesRequest = z.infer<typeof request>;
type Message = MessagesRequest['messages'][number];

/** The body as a Messages server would read it; throws, naming the rule, where it would be refused. */
export function expectMessagesRequest(body: unknown): MessagesRequest {
  const parsed = request.safeParse(body);
  if (!parsed.success) throw new Error(`Not a Messages request: ${z.prettifyError(parsed.error)}`);
  expectTurns(parsed.data.messages);
  for (const [index, written] of parsed.data.messages.entries()) {
    // A turn that paused goes on: the answer to its last use is yet to come.
    if (written.role === 'user' || index < parsed.data.messages.length - 1) expectUsesAnswered(written);
  }
  const names = parsed.data.tools?.map(({ name }) => name) ?? [];
  same(names.length, new Set(names).size, 'a tool has a name of its own');
  expectThinking(parsed.data);
  const called = parsed.data.messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'));
  law(!called || parsed.data.tools, 'calls in the history need tools', parsed.data);
  law(!parsed.data.tool_choice || parsed.data.tools, 'a choice needs tools', parsed.data);
  return parsed.data;
}

function expectTurns(messages: readonly Message[]): void {
  const calls = messages.flatMap(callsOf);
  const uses = messages.flatMap(usesOf);
  same(calls.length + uses.length, new Set([...calls, ...uses]).size, 'a call id comes once');
  for (const [index, written] of messages.entries()) {
    const next = messages[index + 1];
    law(next?.role !== written.role, 'user and assistant take turns', messages);
    const results = next ? resultsOf(next) : [];
    if (written.role === 'assistant')
      same(results.toSorted(), callsOf(written).toSorted(), 'each call has its result next');
    if (written.role === 'assistant') law(!isThought(written.content.at(-1)), 'a thought leads to something', written);
    if (index === 0) same(resultsOf(written), [], 'nothing is answered before it was asked');
    const types = written.content.map(({ type }) => type);
    law(types.lastIndexOf('tool_result') === resultsOf(written).length - 1, 'results come first', written);
  }
}

/** What the server ran has its answer in the same message, and after it. */
function expectUsesAnswered(written: Message): void {
  const open = new Set<string>();
  for (const block of written.content) {
    if (block.type === 'server_tool_use') open.add(block.id);
    if ('tool_use_id' in block && block.type !== 'tool_result')
      law(open.delete(block.tool_use_id), 'an answer follows the use that it is for', written);
  }
  same([...open], [], 'each use has its answer');
}

function usesOf({ content }: Message): readonly string[] {
  return content.flatMap((block) => (block.type === 'server_tool_use' ? [block.id] : []));
}

function callsOf({ content }: Message): readonly string[] {
  return content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
}

function resultsOf({ content }: Message): readonly string[] {
  return content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
}

function isThought(block: Message['content'][number] | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

function expectThinking({ thinking, max_tokens, tool_choice, temperature, top_p, messages }: MessagesRequest): void {
  law(temperature === undefined || top_p === undefined, 'temperature or top_p, not both', { temperature, top_p });
  if (thinking === undefined || thinking.type === 'disabled') return;
  law(temperature === undefined && top_p === undefined, 'nothing is sampled otherwise beside thinking', thinking);
  law(tool_choice?.type !== 'any' && tool_choice?.type !== 'tool', 'no call is forced beside thinking', tool_choice);
  if (thinking.type !== 'enabled') return;
  law(thinking.budget_tokens < max_tokens, 'a budget leaves room for an answer', { thinking, max_tokens });
  const last = messages.at(-1);
  if (!last || resultsOf(last).length === 0) return;
  const question = messages.findLastIndex((written) => written.role === 'user' && resultsOf(written).length === 0);
  law(isThought(messages[question + 1]?.content[0]), 'a turn with calls that goes on thinking began so', messages);
}
