/** What model servers answer, of every upstream, as clients of every API see it. */
import fc from 'fast-check';
import { law, same } from '../../support/law.ts';
import { type StreamedResponse, withoutIdentity } from '../../support/responses-client.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';
import { type ApiName, expectAnswer, expectRefusal } from '../answers.ts';
import { type ByteText, cuts, editedBytes } from '../byte-edits.ts';
import { bytesOf, json, type Sent } from '../client.ts';
import {
  chatAnswers,
  chatStreams,
  errorAnswers,
  messagesAnswers,
  messagesStreams,
  responsesAnswers,
  responsesStreams,
} from '../samples.ts';
import type { Target } from '../target.ts';
import type { World } from '../world.ts';

interface Input {
  readonly api: ApiName;
  readonly stream: boolean;
  readonly type: string;
  readonly body: ByteText;
  readonly cuts: readonly number[];
}

const apis = fc.constantFrom<ApiName>('responses', 'responses', 'responses', 'chat', 'messages');
/** Other model servers have no Chat Completions to pass on. */
const translated = fc.constantFrom<ApiName>('responses', 'responses', 'messages');
const apisAt = (mount: string) => (mount === '/v1' ? apis : translated);
const QUESTION: Readonly<Record<ApiName, readonly [path: string, body: object]>> = {
  responses: ['/responses', { input: 'Go.' }],
  chat: ['/chat/completions', { messages: [{ role: 'user', content: 'Go.' }] }],
  messages: ['/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'Go.' }] }],
};

/** A question to the API at this mount. */
export function question(mount: string, api: ApiName, more: object, headers: Sent['headers'] = {}): Sent {
  const [path, body] = QUESTION[api];
  return json(`${mount}${path}`, { model: 'm', ...body, ...more }, headers);
}

/** Answers of one upstream: streams and whole ones, mostly of the type that they have. */
function answersOf(
  name: string,
  mount: string,
  streams: readonly ByteText[],
  whole: readonly ByteText[],
): Target<Input> {
  const streamed = fc.record({ type: fc.constant('text/event-stream'), body: editedBytes(streams) });
  const complete = fc.record({ type: fc.constant('application/json'), body: editedBytes(whole) });
  const odd = fc.record({ type: fc.constantFrom('text/plain', 'text/event-stream', ''), body: editedBytes(whole) });
  const answer = fc.oneof(
    { weight: 8, arbitrary: streamed },
    { weight: 4, arbitrary: complete },
    { weight: 1, arbitrary: odd },
  );
  return {
    name,
    weight: 12,
    inputs: fc.tuple(apisAt(mount), fc.boolean(), answer, cuts).map(([api, isOther, { type, body }, cut]) => ({
      api,
      stream: type.endsWith('stream') !== isOther,
      type,
      body,
      cuts: cut,
    })),
    async run({ api, stream, type, body, cuts: cut }, world) {
      const first = { type, body: bytesOf(body) };
      const second = { type: 'text/event-stream', body: bytesOf(streams[0] ?? '') };
      const ask = async (offsets: readonly number[]) => {
        world.model.answers({ ...first, cuts: offsets }, second);
        return world.send(question(mount, api, { stream }));
      };
      const got = await ask(cut);
      expectAnswer(api, got, { mayFail: true });
      if (cut.length === 0 || api !== 'responses' || !got.type.startsWith('text/event-stream')) return;
      const again = await ask([]);
      // What fails before anything is shown is refused with its own status.
      if (!again.type.startsWith('text/event-stream')) return expectAnswer(api, again, { mayFail: true });
      same(identityless(again.text), identityless(got.text), 'however the bytes are cut, the response is the same');
    },
  };
}

function identityless(stream: string): unknown {
  const response: StreamedResponse['response'] = expectWireLaws(readWire(stream));
  return withoutIdentity(response);
}

const DIALECTS = ['open-responses-server', 'vllm-responses', 'tokligence'] as const;

/** The same answers in the spelling of other servers. */
const dialects: Target<{ readonly dialect: string; readonly stream: boolean; readonly body: ByteText }> = {
  name: 'dialects',
  weight: 8,
  inputs: fc.record({ dialect: fc.constantFrom(...DIALECTS), stream: fc.boolean(), body: editedBytes(chatStreams) }),
  async run({ dialect, stream, body }, world) {
    const type = 'text/event-stream';
    world.model.answers({ type, body: bytesOf(body) }, { type, body: bytesOf(chatStreams[0] ?? '') });
    const got = await world.send(question('/v1', 'responses', { stream }, { 'x-dialect': dialect }));
    law(!got.isCut, 'an answer ends in good order', got);
    if (got.status !== 200) return expectRefusal('responses', got, true);
    const data = got.type.startsWith('text/event-stream')
      ? got.text.split('\n').filter((line) => line.startsWith('data: {'))
      : [got.text];
    const events = data.map((line) => JSON.parse(line.replace(/^data: /, '')));
    const last = events.at(-1)?.response ?? events.at(-1);
    law(last?.object === 'response' && Array.isArray(last.output), 'an answer ends with its response', got.text);
  },
};

const STATUSES = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529, 302, 204] as const;

/** Errors of model servers. */
const errors: Target<
  Pick<Input, 'api' | 'stream' | 'type' | 'body'> & { readonly status: number; readonly mount: string }
> = {
  name: 'errors of model servers',
  weight: 6,
  inputs: fc.constantFrom('/v1', '/anthropic', '/responses').chain((mount) =>
    fc.record({
      api: apisAt(mount),
      stream: fc.boolean(),
      mount: fc.constant(mount),
      status: fc.constantFrom(...STATUSES),
      type: fc.constantFrom('application/json', 'text/html', 'text/event-stream', 'text/plain'),
      body: editedBytes(errorAnswers),
    }),
  ),
  async run({ api, stream, mount, status, type, body }, world: World) {
    world.model.answers({ status, type, body: bytesOf(body) });
    const got = await world.send(question(mount, api, { stream }));
    law(got.status !== 500 || status === 500, 'an error is the model server’s own', got);
    expectAnswer(api, got.status === 500 ? { ...got, status: 502 } : got, { mayFail: true });
  },
};

/** Upstreams. */
export const modelAnswers = [
  answersOf('Chat Completions upstream', '/v1', chatStreams, chatAnswers),
  answersOf('Messages upstream', '/anthropic', messagesStreams, messagesAnswers),
  answersOf('Responses upstream', '/responses', responsesStreams, responsesAnswers),
  dialects,
  errors,
] as const;
