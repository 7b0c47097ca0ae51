/** The oddest recordings by name, each with what a reader of its bytes expects, written out by hand. */
import { chatChunk, chatStream, type FakeAnswer } from '../../src/testing/index.ts';
import { readingOf } from '../support/recordings.ts';
import { eventStream, type Replay, recordedJson, recordedStream, rewritten, startReplay } from '../support/replay.ts';
import { askForJson, askForStream, type StreamedResponse, withoutIdentity } from '../support/responses-client.ts';
import { describeShared } from '../support/shared.ts';
import type { WireItem } from '../support/wire-schemas.ts';

const TWO_CALLS_AT_INDEX_0 = 'copilot-multiple-tool-calls-1';
const NO_INDEX = 'mistral-chat-model-acomplete-async-parallel-function-cal-1';
const EMPTY_ID = 'gemini-openai-openai-chat-model-gemini-acomplete-return-true-output-ty-1';
const ID_0_EVERYWHERE = 'tgi-flash-llama-grammar-tools-choice-stream-1';
const CALL_AFTER_FINISH = 'together-should-set-function-call-attributes-in-span-for-stream-c-1';
const TWO_FINISHES = 'doubleword-streaming-tool-1';
const ERROR_EVENT = 'groq-tool-use-failed-error-streaming-1';
const ERROR_IN_CHUNK = 'openrouter-stream-error-1';
const CRLF = 'perplexity-testtool-integration-1';
const COMMENTS = 'openrouter-haiku-tools-stream-1';
const WHOLE_MESSAGES = 'writer-async-streaming-chat-multiple-tool-call-requests-1';
const NO_DONE = 'huggingface-simple-streaming-request-1';
const TEXT_BETWEEN_CALLS = 'avian-kimi-multi-tool-streaming-1';
const ARABIC = 'groq-stream-raw-round-trips-terminal-type-1';
const EMOJI = 'alibaba-teststreamcompletion-test-streaming-multiple-choices-1';
const NULL_FIELDS = 'venice-streaming-tools-smoke-1';
const CITED = 'openrouter-web-search-annotations-stream-1';

describeShared('an odd recording, through an Express app', () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await startReplay();
  });
  afterAll(() => replay.close());

  async function answer(reply: FakeAnswer): Promise<StreamedResponse> {
    replay.fake.reply(reply);
    return askForStream(replay.url);
  }
  async function output(name: string): Promise<readonly WireItem[]> {
    return (await answer(recordedStream(name))).response.output;
  }

  it.each([
    TWO_CALLS_AT_INDEX_0,
    NO_INDEX,
    EMPTY_ID,
    ID_0_EVERYWHERE,
    CALL_AFTER_FINISH,
    TWO_FINISHES,
    ERROR_EVENT,
    ERROR_IN_CHUNK,
    CRLF,
    COMMENTS,
    WHOLE_MESSAGES,
    NO_DONE,
    TEXT_BETWEEN_CALLS,
    ARABIC,
    EMOJI,
    NULL_FIELDS,
    CITED,
  ])('[Q-03] [P-08] says the same byte by byte: %s', async (name) => {
    const whole = await answer(recordedStream(name));
    const pieces = await answer({ ...recordedStream(name), split: 'byte' });
    expect(withoutIdentity(pieces.response)).toEqual(withoutIdentity(whole.response));
  });

  describe('tool calls', () => {
    it('[P-05] [C-15] distinguishes two calls at index 0 by their ids', async () => {
      const items = await output(TWO_CALLS_AT_INDEX_0);
      expect(items.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call']);
      expect(items.slice(1).map(edited)).toEqual([
        { call_id: 'tooluse_448k6WHnTpS28K0Bd1bhgA', name: 'edit_file', file: 'test.js', status: 'completed' },
        { call_id: 'tooluse_2SRF2HShTXOoLdGrjWuGiw', name: 'edit_file', file: 'server.js', status: 'completed' },
      ]);
    });

    it('[P-05] [C-15] keeps two calls apart that came in one chunk without any index', async () => {
      expect((await output(NO_INDEX)).map(called)).toEqual([
        ['QAw0JBXkB', 'plus', '{"a": 1, "b": 2}'],
        ['HlyhI5zAI', 'minus', '{"a": 1, "b": 2}'],
      ]);
    });

    it('[P-05] [C-03] gives a call with the id "" an id of our own', async () => {
      const { response } = await answer(recordedStream(EMPTY_ID));
      const seed = response.id.slice('resp_'.length);
      expect(response.output.map(called)).toEqual([[`call_${seed}000`, 'return_bool', '{"value":true}']]);
      expect(response.status).toBe('completed');
    });

    it('[P-05] [C-15] reads a call whose every chunk has the id "0" as one call', async () => {
      const whole = rewritten(recordedStream(ID_0_EVERYWHERE), (text) => `${text}\n\ndata: [DONE]\n\n`);
      const { response } = await answer(whole);
      expect(response.output.map(called)).toEqual([
        ['0', 'get_current_weather', '{ "location": "Brooklyn, NY", "format": "fahrenheit"}'],
      ]);
      expect(response.status).toBe('completed');
    });

    it('[P-05] [P-08] keeps a call that comes after the finish chunk', async () => {
      expect((await output(CALL_AFTER_FINISH)).map(called)).toEqual([
        ['call_gy9cscnhxyt8k7eakmsfk6ou', 'get_current_weather', '{"location": "Boston, MA", "unit": "fahrenheit"}'],
        ['call_s4jlq0l9gmmna048buag7nc3', 'get_tomorrow_weather', '{"location": "Chicago, IL", "unit": "fahrenheit"}'],
      ]);
    });

    it('[P-05] [P-08] ends once where the finish chunk comes twice', async () => {
      const { response } = await answer(recordedStream(TWO_FINISHES));
      expect(response.status).toBe('completed');
      expect(response.output.slice(1).map(called)).toEqual([['call_REDACTED_1', 'add', '{"a": 17, "b": 25}']]);
    });

    it('[P-05] [C-15] takes seven calls from chunks that repeat them as whole messages, without [DONE]', async () => {
      const calls = (await output(WHOLE_MESSAGES)).map(called);
      expect(calls.map(([, name, text]) => [name, JSON.parse(text ?? '')])).toEqual(
        ['Zakopane', 'Warsaw', 'Lodz', 'Katowice', 'Krakow', 'Poznan', 'Lublin'].map((location) => [
          'get_weather',
          { location },
        ]),
      );
      expect(new Set(calls.map(([id]) => id)).size).toBe(7);
    });

    it('[P-05] goes on with a call whose later chunks have null for id and name', async () => {
      expect((await output(NULL_FIELDS)).map(called)).toEqual([['call_REDACTED_1', 'subtract', '{"x": 2, "y": 5}']]);
    });

    it('[P-02] [C-14] [C-16] keeps the text before and the blank between two calls, as items in their order', async () => {
      const items = await output(TEXT_BETWEEN_CALLS);
      expect(items.map((item) => (item.type === 'message' ? texts(item) : item.type))).toEqual([
        'reasoning',
        [" I'll add and multiply 2 and 3 for you at the same time.  "],
        'function_call',
        [' '],
        'function_call',
      ]);
    });

    it('[P-05] gives a call without arguments the arguments {}', async () => {
      const [, call] = await output('databricks-tool-variations-async-1');
      expect(call && called(call)).toEqual(['toolu_bdrk_01Ngtosq8eCQHW1UGyB3vF8n', 'get_current_date2', '{}']);
    });

    it('[P-05] completes where the finish reason is "stop" although there are calls', async () => {
      const { response } = await answer(recordedStream('openai-gpt-4o-completions-1'));
      expect(response.status).toBe('completed');
      expect(response.output.map(called)).toEqual([
        ['call_KMbhDNYS2l62U8AAxZnpxtg6', '__mirascope_formatted_output_tool__', '{"output":7}'],
      ]);
    });

    it('[A-16] reads the legacy function_call, streamed and whole', async () => {
      const streamed = chatStream(
        { function_call: { name: 'get_weather', arguments: '' } },
        { function_call: { arguments: '{"location":' } },
        { function_call: { arguments: '"Boston"}' } },
      );
      const whole = await answer(recordedJson('openai-testclient-functioncall-1'));
      const call = { call: { id: '', name: 'get_weather', arguments: '{"location":"Boston"}' } };
      expect(readingOf(whole.response).segments).toEqual([call]);
      expect(readingOf((await answer(eventStream(streamed))).response).segments).toEqual([call]);
    });

    it('[P-05] reads a custom call as a function call with one input', async () => {
      const { response } = await answer(recordedJson('openai-chat-completion-custom-tool-call-1'));
      expect(response.output.map(called)).toEqual([['call_QpgJRI5C9DcjExMNU6lrJPcu', 'math_exp', '{"input":"4 + 4"}']]);
    });
  });

  describe('endings', () => {
    it('[A-19] [B-05] [P-08] [D-20] fails at an error event in mid-stream, with what came before it', async () => {
      const { events, response } = await answer(recordedStream(ERROR_EVENT));
      expect(events.slice(-2).map(({ type }) => type)).toEqual(['error', 'response.failed']);
      expect(events.at(-2)).toMatchObject({ code: 'tool_use_failed', error: { type: 'invalid_request_error' } });
      expect(response.error?.message).toMatch(/^Tool call validation failed/);
      expect(response.output.map(stateOf)).toEqual([['reasoning', 'incomplete']]);
    });

    it('[B-05] [P-08] [D-20] fails at an error object in a chunk, although a finish chunk came before', async () => {
      const { events, response } = await answer(recordedStream(ERROR_IN_CHUNK));
      expect(events.slice(-2).map(({ type }) => type)).toEqual(['error', 'response.failed']);
      expect(response.error).toMatchObject({ reason: 'invalid_request', message: 'Token limit reached' });
    });

    it('[S-10] [C-22] counts the usage that comes in the same chunk as an error', async () => {
      const { response } = await answer(recordedStream(ERROR_IN_CHUNK));
      expect(response.usage?.total_tokens).toBe(53);
    });

    it('[A-19] [B-05] [P-08] fails where neither finish reason nor [DONE] comes, and keeps the call', async () => {
      const { response } = await answer(recordedStream(ID_0_EVERYWHERE));
      expect(response.error?.reason).toBe('upstream_truncated');
      expect(response.output.map(stateOf)).toEqual([['function_call', 'incomplete']]);
    });

    it.each([0.4, 0.6])('[B-05] [P-08] fails where the socket is cut at %d of the way', async (share) => {
      const whole = recordedStream('alibaba-teststreamcompletion-test-streaming-with-early-terminati-1');
      const text = texts((await answer(whole)).response.output[0]).join();
      const { response } = await answer({ ...whole, cutAfterBytes: Math.floor(whole.body.length * share) });
      const reported = texts(response.output[0]).join();
      expect([response.status, response.error?.reason]).toEqual(['failed', 'upstream_truncated']);
      expect([reported.length > 0, reported.length < text.length, text.startsWith(reported)]).toEqual([
        true,
        true,
        true,
      ]);
    });

    it('[P-08] completes where a finish reason comes but no [DONE]', async () => {
      const { response } = await answer(recordedStream(NO_DONE));
      expect([response.status, texts(response.output[0])]).toEqual(['completed', ['2']]);
    });

    it('[A-17] [P-08] completes where [DONE] comes but no finish reason', async () => {
      const bytes = `${chatChunk({ content: 'Done.' })}data: [DONE]\n\n`;
      const { response } = await answer(eventStream(bytes));
      expect([response.status, texts(response.output[0])]).toEqual(['completed', ['Done.']]);
    });

    it('[A-17] [V-07] has the transcript as its text where the model only made sounds', async () => {
      const { response } = await answer(recordedStream('openai-chatwithbasicaudiooutputasync-1'));
      const { status, output, usage } = response;
      expect([status, output, usage?.total_tokens]).toMatchObject([
        'completed',
        [{ content: [{ text: 'Hello' }] }],
        34,
      ]);
    });

    it('[S-11] is incomplete where the text was cut off, its last item with it', async () => {
      const { response } = await answer(recordedStream('openai-llama-index-complete-stream-1'));
      expect(cutOff(response)).toEqual(['incomplete', 'max_output_tokens', [['message', 'incomplete']]]);
    });

    it('[S-11] is incomplete where reasoning or a call was cut off', async () => {
      const reasoning = await answer(recordedStream('venice-streaming-probe-1'));
      const call = await answer(recordedStream('mistral-streaming-ministral-3b-low-agent-1'));
      expect(cutOff(reasoning.response)).toEqual(['incomplete', 'max_output_tokens', [['reasoning', 'incomplete']]]);
      expect(cutOff(call.response)).toEqual(['incomplete', 'max_output_tokens', [['function_call', 'incomplete']]]);
    });

    it('[S-11] is incomplete without an item where a filter held the answer back', async () => {
      const { response } = await answer(recordedJson('azure-chat-content-filtering-1'));
      expect(cutOff(response)).toEqual(['incomplete', 'content_filter', []]);
    });
  });

  describe('framing', () => {
    it('[P-08] reads lines that end in CRLF, and takes the delta, not the message beside it', async () => {
      const { response } = await answer(recordedStream(CRLF));
      expect(response.status).toBe('completed');
      expect(texts(response.output[0]).join()).toMatch(/^The largest country .* square miles\) \[2\]\[4\]\.$/);
    });

    it('[P-08] reads comments, and CRLF after them, as it reads LF', async () => {
      const lf = await answer(recordedStream(COMMENTS));
      const crlf = await answer(rewritten(recordedStream(COMMENTS), (text) => text.replaceAll('\n', '\r\n')));
      expect(withoutIdentity(crlf.response)).toEqual(withoutIdentity(lf.response));
      expect(lf.response.output.map(called)).toEqual([
        ['toolu_bdrk_01HVmcMRS4tqD3nYTceCxwWE', 'weather', '{"latitude": "48.8575", "longitude": "2.3514"}'],
      ]);
    });

    it('[P-08] knows [DONE] although a blank follows it', async () => {
      const { response } = await answer(recordedStream('openrouter-stream-text-with-tools-1-1'));
      expect([response.status, response.error]).toEqual(['completed', null]);
    });

    it('[P-08] skips blank lines before a JSON answer', async () => {
      const { response } = await answer(recordedJson('openrouter-grok-multi-tool-1'));
      expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call', 'function_call']);
    });

    it('[P-08] takes the message of a JSON answer, not the empty delta beside it', async () => {
      const { response } = await answer(recordedJson('perplexity-sonar-can-have-a-basic-conversation-1'));
      expect(texts(response.output[0]).join()).toContain('2 + 2 = 4');
    });

    it('[C-15] [P-08] takes the first of several choices, in JSON as in a stream', async () => {
      replay.fake.reply(recordedStream(EMOJI));
      const { output: items } = await askForJson(replay.url);
      expect(items.map(texts)).toEqual([['Hello you today? 😊']]);
    });
  });

  describe('parts', () => {
    it('[S-08] [P-03] reads <think> at the start of the text as reasoning', async () => {
      const [reasoning, message, ...rest] = await output('huggingface-hf-model-thinking-part-iter-1');
      expect([reasoning?.type, message?.type, rest]).toEqual(['reasoning', 'message', []]);
      expect(JSON.stringify([reasoning, message])).not.toMatch(/<\/?think>/);
    });

    it('[S-08] [P-03] reads the thinking parts of a content list as reasoning', async () => {
      const { response } = await answer(
        recordedStream('mistral-chat-mistral-hybrid-reasoning-streams-thinking-separatel-1'),
      );
      const [thought, written] = readingOf(response).segments;
      expect([thought, written]).toEqual([
        { reasoning: expect.stringMatching(/^The user .* 144\.$/s) },
        { text: '144' },
      ]);
    });

    it('[S-08] reads reasoning once where two fields repeat it', async () => {
      const { response } = await answer(recordedStream('vllm-code-interpreter-step2-stream-1'));
      const [thought] = readingOf(response).segments;
      expect(thought).toEqual({ reasoning: expect.stringMatching(/^The code_interpreter tool successfully executed/) });
    });

    it('[S-09] shows a refusal as a part of the message', async () => {
      const [message] = await output('openrouter-streaming-raw-model-surfaces-refusal-1');
      const refusal = "I'm sorry, I can't assist with that request.";
      expect(message).toMatchObject({ type: 'message', content: [{ type: 'refusal', refusal }] });
    });

    it('[S-09] reports each citation as an annotation, although they come before the text', async () => {
      const { events, response } = await answer(recordedStream(CITED));
      const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
      const [message] = response.output;
      const part = message?.type === 'message' ? message.content[0] : undefined;
      expect(
        part?.type === 'output_text' && part.annotations.map((cited) => 'url' in cited && new URL(cited.url).hostname),
      ).toEqual(['github.com', 'pydantic.dev', 'github.com', 'pydantic.dev', 'github.com']);
      expect(added).toHaveLength(5);
    });

    it('[S-09] keeps log probabilities, with the bytes of each token', async () => {
      const [message] = await output('openai-logprobs-1');
      const part = message?.type === 'message' ? message.content[0] : undefined;
      const logprobs = part?.type === 'output_text' ? part.logprobs : [];
      expect(logprobs.map(({ token }) => token).join('')).toBe('Hi! How can I help?');
      expect(logprobs.map(({ bytes }) => String(Buffer.from(bytes)))).toEqual(logprobs.map(({ token }) => token));
    });
  });

  it.each([
    ['after the finish chunk', 'azure-streaming-completion-1', 19],
    ['with the finish chunk', 'cloudflare-simple-request-1', 52],
    ['in x_groq alone', 'groq-tool-call-1', 225],
    ['in every chunk, growing', CRLF, 55],
    ['nowhere', 'azure-chat-streaming-1', 0],
  ])('[S-10] [C-22] [P-08] counts usage that comes %s', async (_where, name, total) => {
    const { response } = await answer(recordedStream(name));
    expect(response.usage?.total_tokens).toBe(total);
  });

  it.each([
    ['in pieces', [{ prompt_tokens: 50 }, { completion_tokens: 3 }]],
    [
      'with zeros behind',
      [
        { prompt_tokens: 50, completion_tokens: 3 },
        { prompt_tokens: 0, completion_tokens: 0 },
      ],
    ],
  ])('[V-06] [S-10] counts usage that comes %s, which no recording has', async (_how, [first, last]) => {
    const end = chatChunk({}, { finish_reason: 'stop', usage: first });
    const { response } = await answer(
      eventStream([chatChunk({ content: 'Hi' }), end, chatChunk({}, { choices: [], usage: last })].join('')),
    );
    expect(response.usage).toMatchObject({ input_tokens: 50, output_tokens: 3, total_tokens: 53 });
  });
});

function called(item: WireItem): readonly string[] {
  return item.type === 'function_call' ? [item.call_id, item.name, item.arguments] : [item.type];
}

/** A call of an editor, whose arguments are too long to be written out here. */
function edited(item: WireItem): unknown {
  if (item.type !== 'function_call') return item;
  const { call_id, name, status, arguments: text } = item;
  return { call_id, name, status, file: /debugtest\/([\w.]+)"/.exec(text)?.[1] };
}

function texts(item: WireItem | undefined): readonly string[] {
  return item?.type === 'message' ? item.content.map((part) => (part.type === 'refusal' ? '' : part.text)) : [];
}

function stateOf(item: WireItem): unknown {
  return [item.type, 'status' in item && item.status];
}

function cutOff({ status, incomplete_details, output }: StreamedResponse['response']): unknown {
  return [status, incomplete_details?.reason, output.map(stateOf)];
}
