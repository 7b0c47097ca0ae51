/** `POST /responses` over real HTTP, answered as a stream, frame by frame. */

import { memoryStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { coreSettings } from '../../src/server/options/core-settings.ts';
import { chatChunk, chatStream, textStream } from '../../src/testing/index.ts';
import { gate } from '../support/gate.ts';
import {
  eventsOf,
  finalOf,
  framesOf,
  masked,
  maskedValue,
  type RequestApp,
  requestAppPerTest,
} from '../support/request-app.ts';
import {
  callAt,
  callDelta,
  completed,
  finished,
  frame,
  messageAt,
  NO_USAGE,
  outputText,
  PARIS,
  STARTED,
  upstreamOf,
  WEATHER,
} from './response-values.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

describe('POST /responses as a stream', () => {
  it('[S-02] [A-01] [C-12] [D-03] [D-08] [M-11] [M-12] [M-13] [M-15] [M-16] emits a text in the strict order, one frame for each event', async () => {
    app.upstream.reply({ body: textStream(['Hel', 'lo', ' \n']) });
    const message = { output_index: 0, item: { ...messageAt(0), status: 'in_progress' } };
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    expect(masked(await app.streamed({ input: 'Hi.' }))).toBe(
      [
        frame('response.created', 0, { response: STARTED }),
        frame('response.in_progress', 1, { response: STARTED }),
        frame('response.output_item.added', 2, message),
        frame('response.content_part.added', 3, { ...part, part: outputText('') }),
        frame('response.output_text.delta', 4, { ...part, delta: 'Hel', logprobs: [] }),
        frame('response.output_text.delta', 5, { ...part, delta: 'lo', logprobs: [] }),
        frame('response.output_text.delta', 6, { ...part, delta: ' \n', logprobs: [] }),
        frame('response.output_text.done', 7, { ...part, text: 'Hello \n', logprobs: [] }),
        frame('response.content_part.done', 8, { ...part, part: outputText('Hello \n') }),
        frame('response.output_item.done', 9, { output_index: 0, item: messageAt(0, outputText('Hello \n')) }),
        frame('response.completed', 10, { response: completed([messageAt(0, outputText('Hello \n'))]) }),
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('[C-01] [C-02] [C-03] [C-04] [A-06] [A-07] [A-10] [M-01] [M-02] [M-03] [M-04] [M-25] emits a call under one id, from no arguments to all of them, and completes', async () => {
    const fragments = ['{"city":', '"Paris"}'].map((text) => ({
      tool_calls: [{ index: 0, function: { arguments: text } }],
    }));
    app.upstream.reply({
      body: chatStream({ tool_calls: [{ index: 0, ...callDelta({ ...PARIS, arguments: '' }) }] }, ...fragments),
    });
    const started = { ...STARTED, tools: [WEATHER] };
    const place = { item_id: 'fc_SEED0000', output_index: 0 };
    const added = { ...callAt(0, { ...PARIS, arguments: '' }), status: 'in_progress' };
    expect(masked(await app.streamed({ input: 'Hi.', tools: [WEATHER] }))).toBe(
      [
        frame('response.created', 0, { response: started }),
        frame('response.in_progress', 1, { response: started }),
        frame('response.output_item.added', 2, { output_index: 0, item: added }),
        frame('response.function_call_arguments.delta', 3, { ...place, delta: '{"city":' }),
        frame('response.function_call_arguments.delta', 4, { ...place, delta: '"Paris"}' }),
        frame('response.function_call_arguments.done', 5, {
          ...place,
          name: 'get_weather',
          arguments: '{"city":"Paris"}',
        }),
        frame('response.output_item.done', 6, { output_index: 0, item: callAt(0, PARIS) }),
        frame('response.completed', 7, { response: { ...completed([callAt(0, PARIS)]), tools: [WEATHER] } }),
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('[S-09] [D-11] emits a refusal in a part of its own', async () => {
    app.upstream.reply({ body: chatStream({ refusal: 'I ' }, { refusal: 'cannot.' }) });
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const events = itemEvents(await app.streamed({ input: 'Hi.' }));
    expect(events).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...messageAt(0), status: 'in_progress' } }],
      ['response.content_part.added', { ...part, part: { type: 'refusal', refusal: '' } }],
      ['response.refusal.delta', { ...part, delta: 'I ' }],
      ['response.refusal.delta', { ...part, delta: 'cannot.' }],
      ['response.refusal.done', { ...part, refusal: 'I cannot.' }],
      ['response.content_part.done', { ...part, part: { type: 'refusal', refusal: 'I cannot.' } }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, { type: 'refusal', refusal: 'I cannot.' }) }],
    ]);
  });

  it('[S-09] fills in the bytes of log probabilities, and sends them with delta, end and part', async () => {
    const alternatives = [{ token: 'ö', logprob: -0.5, bytes: null }];
    const logprobs = {
      content: [{ token: 'é', logprob: -0.25, bytes: null, top_logprobs: alternatives }],
      refusal: null,
    };
    const choices = [{ index: 0, delta: { content: 'é' }, logprobs, finish_reason: null }];
    app.upstream.reply({ body: [chatChunk({}, { choices }), finished('stop')] });
    const events = itemEvents(
      await app.streamed({ input: 'Hi.', top_logprobs: 1, include: ['message.output_text.logprobs'] }),
    );
    const reported = [
      {
        token: 'é',
        logprob: -0.25,
        bytes: [0xc3, 0xa9],
        top_logprobs: [{ token: 'ö', logprob: -0.5, bytes: [0xc3, 0xb6] }],
      },
    ];
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const whole = { ...outputText('é'), logprobs: reported };
    expect(events.slice(2)).toEqual([
      ['response.output_text.delta', { ...part, delta: 'é', logprobs: reported }],
      ['response.output_text.done', { ...part, text: 'é', logprobs: reported }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, whole) }],
    ]);
  });

  it('[S-09] [D-11] flattens url citations into annotations', async () => {
    const url_citation = { url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 3 };
    app.upstream.reply({
      body: chatStream({ content: 'Yes' }, { annotations: [{ type: 'url_citation', url_citation }] }),
    });
    const annotation = { type: 'url_citation', ...url_citation };
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const whole = { ...outputText('Yes'), annotations: [annotation] };
    expect(itemEvents(await app.streamed({ input: 'Hi.' })).slice(3)).toEqual([
      ['response.output_text.annotation.added', { ...part, annotation_index: 0, annotation }],
      ['response.output_text.done', { ...part, text: 'Yes', logprobs: [] }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, whole) }],
    ]);
  });

  it('[S-08] [M-07] [M-25] [D-09] emits reasoning as a summary, by summary_index, unless the host wants it otherwise', async () => {
    app.upstream.reply({ body: chatStream({ reasoning_content: 'Hm' }, { content: 'Yes' }) });
    const item = { id: 'rs_SEED0000', type: 'reasoning', status: 'completed', summary: [] as readonly JsonObject[] };
    const part = { item_id: 'rs_SEED0000', output_index: 0, summary_index: 0 };
    const whole = { type: 'summary_text', text: 'Hm' };
    expect(itemEvents(await app.streamed({ input: 'Hi.' })).slice(0, 7)).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } }],
      ['response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }],
      ['response.reasoning_summary_text.delta', { ...part, delta: 'Hm' }],
      ['response.reasoning_summary_text.done', { ...part, text: 'Hm' }],
      ['response.reasoning_summary_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: { ...item, summary: [whole] } }],
      ['response.output_item.added', { output_index: 1, item: { ...messageAt(1), status: 'in_progress' } }],
    ]);
  });

  it.each([
    ['text', 'response.reasoning_text'],
    ['spec', 'response.reasoning'],
  ] as const)('[S-08] [M-07] [D-10] emits raw reasoning with reasoning: %s', async (reasoning, name) => {
    await restart({ show: { reasoning } });
    app.upstream.reply({ body: chatStream({ reasoning: 'Hm' }) });
    const item = { id: 'rs_SEED0000', type: 'reasoning', status: 'completed', summary: [] };
    const part = { item_id: 'rs_SEED0000', output_index: 0, content_index: 0 };
    const whole = { type: 'reasoning_text', text: 'Hm' };
    expect(itemEvents(await app.streamed({ input: 'Hi.' }))).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }],
      ['response.content_part.added', { ...part, part: { type: 'reasoning_text', text: '' } }],
      [`${name}.delta`, { ...part, delta: 'Hm' }],
      [`${name}.done`, { ...part, text: 'Hm' }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: { ...item, content: [whole] } }],
    ]);
  });

  it.each([
    ['reasoning_content', [{ reasoning_content: 'Hm' }, { content: 'Yes' }]],
    ['reasoning', [{ reasoning: 'Hm' }, { content: 'Yes' }]],
    ['reasoning_details', [{ reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }, { content: 'Yes' }]],
    ['<think> in the text', [{ content: '<thi' }, { content: 'nk>Hm</think>Yes' }]],
  ])('[S-08] reads the reasoning of an upstream that sends %s', async (_, deltas) => {
    app.upstream.reply({ body: chatStream(...deltas) });
    const { body } = await app.create({ input: 'Hi.' });
    expect(maskedValue([body.id, body.output])).toEqual([
      'resp_SEED',
      [
        {
          id: 'rs_SEED0000',
          type: 'reasoning',
          status: 'completed',
          summary: [{ type: 'summary_text', text: 'Hm' }],
        },
        messageAt(1, outputText('Yes')),
      ],
    ]);
  });

  it('[M-14] [D-04] emits queued only where the host asks for it', async () => {
    const without = eventsOf(await app.streamed({ input: 'Hi.' })).slice(0, 2);
    await restart({ show: { queued: true } });
    const withQueued = eventsOf(await app.streamed({ input: 'Hi.' })).slice(0, 3);
    const statuses = (events: readonly JsonObject[]) =>
      events.map(({ type, sequence_number: sequence, response }) => [type, sequence, (response as JsonObject).status]);
    expect([statuses(without), statuses(withQueued)]).toEqual([
      [
        ['response.created', 0, 'in_progress'],
        ['response.in_progress', 1, 'in_progress'],
      ],
      [
        ['response.created', 0, 'in_progress'],
        ['response.queued', 1, 'queued'],
        ['response.in_progress', 2, 'in_progress'],
      ],
    ]);
  });

  it('[M-08] [M-12] fills silence with comments, which have no number, by default after 15 s', async () => {
    const rest = gate();
    const upstream = upstreamOf(async function* () {
      yield [{ type: 'text-delta', text: 'a' }];
      await rest.opened;
      yield [{ type: 'finish', reason: 'stop' }];
    });
    await restart({ upstream, heartbeat: { intervalMs: 1 } });
    const text = await readUntil(': heartbeat\n\n', rest.open);
    const sequences = eventsOf(text).map(({ sequence_number: sequence }) => sequence);
    const { heartbeat } = coreSettings('test', { store: memoryStore(), upstream });
    expect([text.includes('\n\n: heartbeat\n\n'), sequences, heartbeat]).toEqual([
      true,
      sequences.map((_, index) => index),
      { intervalMs: 15_000, style: 'comment' },
    ]);
  });

  it('[A-18] [M-09] [D-19] [S-02] ends a broken stream with one merged error, the failed response and [DONE]', async () => {
    const written = [chatChunk({ content: 'Half an' }), chatChunk({ content: ' answer' })];
    app.upstream.reply({ body: written, cutAfterBytes: written.join('').length });
    const frames = framesOf(await app.streamed({ input: 'Hi.' })).slice(-3);
    const message = 'The connection to the model server broke.';
    const code = 'upstream_truncated';
    const output = [{ ...messageAt(0, outputText('Half an answer')), status: 'incomplete' }];
    const [error, failed, done] = frames.map(({ data }) => data);
    const reported = { code: 'server_error', message, type: 'server_error', param: null, reason: code };
    expect(maskedValue([(failed as { response: JsonObject }).response.id, error, failed, done])).toEqual([
      'resp_SEED',
      {
        type: 'error',
        sequence_number: 9,
        code,
        message,
        param: null,
        error: { type: 'server_error', code, message, param: null },
      },
      {
        type: 'response.failed',
        sequence_number: 10,
        response: { ...STARTED, status: 'failed', error: reported, output, usage: NO_USAGE },
      },
      '[DONE]',
    ]);
  });

  it('[S-11] [D-06] [M-10] ends with response.incomplete, its item incomplete and last', async () => {
    app.upstream.reply({ body: finished('length', { reasoning: 'Hm' }, { content: 'Cut' }) });
    const text = await app.streamed({ input: 'Hi.' });
    const message = { ...messageAt(1, outputText('Cut')), status: 'incomplete' };
    const events = eventsOf(text);
    expect(maskedValue([finalOf(text).id, events.at(-2), events.at(-1)?.type, finalOf(text).output.at(-1)])).toEqual([
      'resp_SEED',
      { type: 'response.output_item.done', sequence_number: events.length - 2, output_index: 1, item: message },
      'response.incomplete',
      message,
    ]);
  });
});

/** The events between the lifecycle's, each as its type and its own fields; masked. */
function itemEvents(text: string): readonly unknown[] {
  return eventsOf(masked(text))
    .slice(2, -1)
    .map(({ type, sequence_number: _, ...fields }) => [type, fields]);
}

/** The whole stream; `seen` is called when the text shows. */
async function readUntil(shows: string, seen: () => void): Promise<string> {
  const response = await fetch(`${app.url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-model', input: 'Hi.', stream: true }),
  });
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString();
    if (text.includes(shows)) seen();
  }
  return text;
}
