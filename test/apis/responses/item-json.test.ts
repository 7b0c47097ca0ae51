/** Items and parts as JSON, written once. */
import fc from 'fast-check';
import { itemJson, jsonWith, listJson, partJson } from '../../../src/apis/responses/encoding/item-json.ts';
import type { Item, LogProb, Part } from '../../../src/protocol/items.ts';
import { logProbsIn, logProbsText } from '../../../src/protocol/json/log-probs.ts';

const OUTPUT_TEXT = { type: 'output_text', annotations: [] } as const;

const top = { token: fc.string(), logprob: fc.double(), bytes: fc.array(fc.nat(255)) };
const logprobs = fc.array(fc.record<LogProb>({ ...top, top_logprobs: fc.array(fc.record(top)) }), { maxLength: 3 });
const part = fc.oneof(
  fc.tuple(fc.string(), logprobs).map(([text, logprobs]): Part => ({ ...OUTPUT_TEXT, text, logprobs })),
  fc.string().map((refusal): Part => ({ type: 'refusal', refusal })),
);
const odd = fc.dictionary(fc.constantFrom('content', 'type', 'constructor', 'a'), fc.option(fc.jsonValue()));
// The cast: whatever a model or a host's dialect makes of an item.
const item = fc.oneof(
  fc.record({ id: fc.string(), type: fc.constant('message'), content: fc.array(part, { maxLength: 2 }) }),
  fc.record({ type: fc.constant('message'), content: fc.string(), status: fc.constant(undefined) }),
  odd,
) as fc.Arbitrary<Item>;

describe('itemJson', () => {
  it('[Q-03] equals JSON.stringify of items, parts and log probabilities, the first time and the second', () => {
    const written = fc.tuple(item, part, logprobs);
    fc.assert(
      fc.property(written, ([item, part, logprobs]) => {
        const reported = `[${logProbsText(logprobs)}]`;
        const texts = new Map();
        const json = (each: Item) => itemJson(each, texts);
        const write = () => [json(item), partJson(part, texts), reported, listJson([item, item], json)];
        const expected = [item, part, logprobs, [item, item]].map((each) => JSON.stringify(each));
        expect([write(), write()]).toEqual([expected, expected]);
        expect([itemJson(item, undefined), partJson(part, undefined)]).toEqual(expected.slice(0, 2));
      }),
    );
  });
});

describe('logProbsIn', () => {
  it('[Q-03] [S-09] reads what was written, and remembers how', () => {
    fc.assert(
      fc.property(logprobs, (logprobs) => {
        const text = logProbsText(logprobs);
        const read = logProbsIn(text);
        expect([read, logProbsText(read)]).toEqual([JSON.parse(JSON.stringify(logprobs)), text]);
      }),
    );
  });
});

describe('jsonWith', () => {
  it('keeps the order of the fields, and leaves out what is undefined', () => {
    const fields = { constructor: 1, a: 1, b: undefined, c: 'x' };
    expect([jsonWith(fields, 'a', '["$&"]'), jsonWith(fields, 'd', '{}')]).toEqual([
      '{"constructor":1,"a":["$&"],"c":"x"}',
      '{"constructor":1,"a":1,"c":"x","d":{}}',
    ]);
  });
});
