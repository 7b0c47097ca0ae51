/** What is kept of text that comes in small pieces: not much more than the text. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AnswerUsage } from '../../src/metering/answer-usage.ts';
import { toolCalls } from '../../src/protocol/chat-completions/tool-calls.ts';

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
    const calls = toolCalls();
    calls.take([{ index: 0, id: 'call_1', function: { name: 'f' } }], []);
    for (let index = 0; index < 2 ** 20; index += 1)
      calls.take([{ index: 0, function: { arguments: 'ab'[index % 2] } }], []);
    return calls;
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
