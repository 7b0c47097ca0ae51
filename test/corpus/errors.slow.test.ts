/** Every recorded refusal of a model server, and worse ones: each becomes the right status and OpenAI's envelope, and reveals nothing of the server behind. */
import { chatChunk, chatCompletion, type FakeAnswer } from '../../src/testing/index.ts';
import { eventStream, type Replay, startReplay, UPSTREAM_KEY } from '../support/replay.ts';
import { askForJson, askForStream, openaiClient, post } from '../support/responses-client.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';
import { expectWireError, type WireError } from '../support/wire-schemas.ts';

type Refusal = WireError['error'] & { readonly status: number };

/** Where the client's error differs from the server's: the status is in the body, a key is in the message. */
const BY_HAND: Readonly<Record<string, object>> = {
  'azure-200-prompt-content-filtering-1.json': { status: 400 },
  // A model that is not there is one error, whoever says so.
  'mistral-400-bad-request-response-1.json': { status: 404 },
  'openai-400-responses-create-api-error-content-mode0-1.json': { status: 404 },
  'xai-400-provider-error-classifies-with-contract-but-reports-no-i-1.json': { status: 404 },
  // The same request can never succeed there.
  'llamacpp-500-image-without-mmproj-1.json': { status: 400 },
  'openai-401-auth-rejection-carries-identity-1.json': {
    message: expect.stringMatching(/^Incorrect API key provided: \*\*\*\.? You can find your API key at /),
  },
};

/** What the code says where the server gave one; other servers' numbers and silence become a word for the status. */
const CODES: Readonly<Record<string, string>> = {
  'anthropic-401-completion-invalid-api-key-1.json': 'invalid_api_key',
  'azure-200-prompt-content-filtering-1.json': 'content_filter',
  'azure-429-grok-4-1-context-length-1.json': 'RateLimitReached',
  'gemini-429-testagentmultimodalgemini-test-mixed-files-gemini-gemini-1.json': 'rate_limit_exceeded',
  'groq-400-tool-use-failed-error-1.json': 'tool_use_failed',
  'llamacpp-500-image-without-mmproj-1.json': 'invalid_request',
  'ollama-404-chat-error-records-model-name-1.json': 'model_not_found',
  'openai-400-gpt-5-nano-context-length-1.json': 'context_length_exceeded',
  'openai-401-auth-rejection-carries-identity-1.json': 'invalid_api_key',
};

let replay: Replay;

beforeAll(async () => {
  replay = await startReplay();
});
afterAll(() => replay.close());

describeShared('a recorded refusal, through an Express app', () => {
  const names = listShared('corpus/errors', '.json').filter((name) => !name.endsWith('.request.json'));

  it.each(names)('[P-09] [B-06] [D-19] [A-19] keeps status and message in the envelope: %s', async (name) => {
    const { status, message } = await refused(recordedRefusal(name));
    const expected = { status: statusOf(name), message: messageOf(name), ...BY_HAND[name] };
    expect({ status, message }).toEqual(expected);
  });

  it.each(Object.entries(CODES))('[P-09] [D-19] reports the code of %s as %s', async (name, code) => {
    expect((await refused(recordedRefusal(name))).code).toBe(code);
  });

  it('[P-09] [D-19] types each by its status, or as its server does', async () => {
    const types = new Map<number, Set<string>>();
    for (const name of names) {
      const { status, type } = await refused(recordedRefusal(name));
      types.set(status, (types.get(status) ?? new Set()).add(type));
    }
    expect(new Map([...types].map(([status, found]) => [status, [...found].sort()]))).toEqual(
      new Map([
        [400, ['invalid_request_error']],
        [401, ['authentication_error', 'invalid_request_error']],
        [403, ['invalid_request_error']],
        [404, ['invalid_request_error', 'not_found_error']],
        [429, ['rate_limit_error']],
        [501, ['not_supported_error', 'server_error']],
      ]),
    );
  });

  it('[P-09] [D-19] keeps the param that a server names', async () => {
    const { param } = await refused(recordedRefusal('openai-400-o1-mini-system-role-system-1.json'));
    expect(param).toBe('messages[0].role');
  });

  it('[P-09] is what openai-node throws for its status', async () => {
    replay.fake.reply(recordedRefusal('openai-400-gpt-5-nano-context-length-1.json'));
    const requested = openaiClient(replay.url).responses.create({ model: 'recorded-model', input: 'Go.' });
    await expect(requested).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'input' });
  });
});

describe('a refusal that says too much or nothing', () => {
  it.each<readonly [what: string, status: number, body: string, type: string]>([
    ['an HTML page', 502, '<html><body><h1>502 Bad Gateway</h1><hr>nginx/1.25.3</body></html>', 'text/html'],
    ['a HTML page that says it is JSON', 503, '<!DOCTYPE html><title>Down</title>', 'application/json'],
    ['HTML inside JSON', 502, '{"error":{"message":"<html><h1>Bad Gateway</h1></html>"}}', 'application/json'],
    ['nothing at all', 500, '', 'text/plain'],
    ['plain text', 503, 'upstream connect error or disconnect/reset before headers', 'text/plain'],
    ['broken JSON', 500, '{"error":{"message":"oo', 'application/json'],
    ['JSON that is no object', 400, '["no"]', 'application/json'],
    ['JSON null', 500, 'null', 'application/json'],
    ['an empty message', 429, '{"error":{"message":"","code":429}}', 'application/json'],
  ])('[P-09] [B-06] [D-19] is reported as its status alone: %s', async (_what, status, body, type) => {
    const refusal = await refused({ status, body, headers: { 'content-type': type } });
    expect(refusal).toMatchObject({ status, message: `The model server answered with status ${status}.`, param: null });
  });

  it.each([400, 401, 429, 500, 503])(
    '[P-09] reveals neither key nor address in a message of status %d',
    async (status) => {
      const { baseURL } = replay.fake;
      const message = `Key ${UPSTREAM_KEY} refused at ${baseURL}/chat/completions (${new URL(baseURL).host}), sk-other-987654 too.`;
      const refusal = await refused({ status, body: JSON.stringify({ error: { message } }) });
      expect(refusal.message).toBe('Key *** refused at ***/chat/completions (***), *** too.');
    },
  );

  it('[P-09] reveals neither key nor address in a code, a type or a param', async () => {
    const leak = `${UPSTREAM_KEY} at ${replay.fake.baseURL}`;
    const error = { message: 'No.', code: leak, param: leak, type: `${leak}_error` };
    replay.fake.reply({ status: 400, body: JSON.stringify({ error }) });
    expectNoLeak((await post(replay.url)).text);
  });

  it('[P-09] passes on how long to wait', async () => {
    replay.fake.reply({ status: 429, headers: { 'retry-after': '7' }, body: '{"error":{"message":"Slow down."}}' });
    const { status, headers } = await post(replay.url);
    expect([status, headers.get('retry-after')]).toEqual([429, '7']);
  });
});

describe('an error that comes late', () => {
  const leak = () => `Key ${UPSTREAM_KEY} refused at ${replay.fake.baseURL}.`;

  it('[P-09] [B-05] [D-20] [A-19] reveals neither key nor address in mid-stream, nor in the failed response', async () => {
    const bytes = [
      chatChunk({ content: 'Half' }),
      `data: ${JSON.stringify({ error: { message: leak(), code: 500 } })}\n\n`,
    ];
    replay.fake.reply(eventStream(bytes.join('')));
    const { text, response } = await askForStream(replay.url);
    expect(response.error).toMatchObject({ reason: 'upstream_error', message: 'Key *** refused at ***.' });
    expectNoLeak(text);
    expectNoLeak(JSON.stringify(await askForJson(replay.url)));
  });

  it('[P-09] [B-06] is an HTTP error where it is the first thing a stream says', async () => {
    const refusal = await refused(eventStream(`data: {"error":{"message":"No slot.","code":503}}\n\n`));
    expect(refusal).toEqual({
      status: 503,
      message: 'No slot.',
      type: 'server_error',
      param: null,
      code: 'upstream_unavailable',
    });
  });

  it('[P-09] [B-06] is an HTTP error where a good status hides a page of HTML', async () => {
    const refusal = await refused({ status: 200, body: '<html><body>Sign in</body></html>' });
    expect(refusal).toMatchObject({ status: 502, code: 'upstream_error', type: 'server_error' });
  });

  it('[P-09] [B-06] is an HTTP error where a good status hides something that is no answer', async () => {
    const refusal = await refused({ status: 200, body: '"hello"' });
    expect(refusal).toMatchObject({ status: 502, code: 'upstream_error', type: 'server_error' });
  });

  it('[P-09] is no error where the answer is good, although it speaks of errors', async () => {
    replay.fake.reply({ body: chatCompletion('An error: <html>', { error: null }) });
    expect((await askForJson(replay.url)).status).toBe('completed');
  });
});

/** The refusal, which must be the same to one who asked for JSON and to one who asked for a stream, and must leak nothing. */
async function refused(reply: FakeAnswer): Promise<Refusal> {
  replay.fake.reply(reply);
  const asJson = await refusal({});
  const asStream = await refusal({ stream: true });
  expect(asStream).toEqual(asJson);
  return asJson;
}

async function refusal(body: Readonly<Record<string, unknown>>): Promise<Refusal> {
  const { status, contentType, text } = await post(replay.url, body);
  expect(contentType).toMatch(/^application\/json/);
  expectNoLeak(text);
  const { error } = expectWireError(JSON.parse(text));
  expect(error.message).not.toMatch(/^\s*[{[<]|<\/?(html|body|h1)/i);
  return { status, ...error };
}

function expectNoLeak(text: string): void {
  const { host } = new URL(replay.fake.baseURL);
  expect([UPSTREAM_KEY, host, 'Bearer '].filter((secret) => text.includes(secret))).toEqual([]);
  expect(text).not.toMatch(/\bsk-\w/);
}

function recordedRefusal(name: string): FakeAnswer {
  const status = Number(/-(\d{3})-/.exec(name)?.[1]);
  return { status, body: readShared(`corpus/errors/${name}`), headers: { 'content-type': 'application/json' } };
}

function statusOf(name: string): number {
  return recordedRefusal(name).status ?? Number.NaN;
}

/** Where each of the recorded servers puts its message. */
function messageOf(name: string): string {
  const { error, message, detail } = JSON.parse(readShared(`corpus/errors/${name}`));
  return error?.message ?? error ?? message ?? detail;
}
