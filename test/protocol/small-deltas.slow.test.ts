/** What is kept of text that comes in small pieces: not much more than the text. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AnswerUsage } from '../../src/engine/metering/answer-usage.ts';
import { ToolCalls } from '../../src/protocol/chat-completions/tool-calls.ts';
import type { ByteReader } from '../../src/streams/bytes.ts';
import { openInbox } from '../../src/streams/sse-reader.ts';
import { KeptContent } from '../../src/upstreams/anthropic/kept-content.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Megabytes that are kept of what this makes. */
function kept(make: () => object): number {
  const before = heapUsed();
  const made = make();
  const megabytes = (heapUsed() - before) / 2 ** 20;
  // Lives until here.
  return Object.keys(made).length > 0 ? megabytes : 0;
}

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

it('[P-14] a call with a megabyte of arguments, character by character', () => {
  const written = kept(() => {
    const calls = new ToolCalls();
    calls.take([{ index: 0, id: 'call_1', function: { name: 'f' } }], []);
    for (let index = 0; index < 2 ** 20; index += 1)
      calls.take([{ index: 0, function: { arguments: 'ab'[index % 2] } }], []);
    return calls;
  });
  expect(written).toBeLessThan(8);
});

it('[P-14] a megabyte of another server’s text, thoughts and arguments, character by character', () => {
  const written = kept(() => {
    const decoder = new ResponsesDecoder(() => {});
    const types = ['output_text', 'reasoning_summary_text', 'function_call_arguments'];
    decoder.take(
      {
        type: 'response.output_item.added',
        output_index: 2,
        item: { type: 'function_call', name: 'f', call_id: 'call_1' },
      },
      [],
    );
    for (let index = 0; index < 2 ** 20; index += 1)
      decoder.take({ type: `response.${types[index % 3]}.delta`, output_index: index % 3, delta: 'ab'[index % 2] }, []);
    return decoder;
  });
  expect(written).toBeLessThan(8);
});

it('[P-14] a megabyte of Anthropic’s text that must go back, character by character', () => {
  const written = kept(() => {
    const content = new KeptContent(2 ** 22);
    content.start(0, { type: 'text', text: '' });
    for (let index = 0; index < 2 ** 20; index += 1) content.add(0, { text: 'ab'[index % 2] });
    return content;
  });
  expect(written).toBeLessThan(8);
});

it('[P-14] two megabytes of text in metered events of 300 bytes, of which nothing but the text is kept', () => {
  const padding = 'y'.repeat(256);
  const written = kept(() => {
    const answer = new AnswerUsage();
    for (let index = 0; index < 100_000; index += 1)
      answer.take(`{"p":"${padding}${index}","choices":[{"delta":{"content":"abcdefghijklmnopqrst"}}]}`, false);
    return answer;
  });
  expect(written).toBeLessThan(8);
});

it('[P-14] a line of an event stream that comes byte by byte', async () => {
  let read: (bytes: Buffer) => void = () => {};
  const readBy = (reader: ByteReader) => {
    read = (bytes) => reader.bytes(bytes);
  };
  const inbox = openInbox(
    { readBy, pause() {}, resume() {}, close() {} },
    { eventBytes: 2 ** 20, quietMs: 60_000, onBytes() {} },
  );
  inbox.pull({ onChunk() {}, onEnd() {}, onError() {} });
  const before = heapUsed();
  for (let index = 0; index < 100_000; index += 1) {
    read(Buffer.from('x'));
    await setImmediate();
  }
  const megabytes = (heapUsed() - before) / 2 ** 20;
  inbox.close();
  expect(megabytes).toBeLessThan(4);
});
