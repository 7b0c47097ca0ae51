/** The options `compaction` and `tokens`, as a router takes them. */
import { responsesRouter } from '../../../src/index.ts';

const SECRET = 'too-short';

function refusal(options: object): string {
  try {
    responsesRouter(options);
  } catch (error) {
    return String(error);
  }
  return 'taken';
}

describe('the options', () => {
  it('[S-14] take a prompt and a key of at least 16 bytes, and undefined for either', () => {
    const key = 'k'.repeat(16);
    const given = [
      {},
      { key },
      { key: Buffer.from(key) },
      { prompt: 'Sum up.' },
      { prompt: undefined, key: undefined },
    ];
    expect(given.map((compaction) => refusal({ compaction }))).toEqual(given.map(() => 'taken'));
  });

  it('[S-14] name what is wrong, and never show the key', () => {
    const refusals = [
      { compaction: { key: SECRET } },
      { compaction: { key: new Uint8Array(15) } },
      { compaction: { key: 17 } },
      { compaction: SECRET },
      { compaction: { keys: SECRET } },
      { compaction: { prompt: ' ' } },
      { tokens: { count: 4 } },
      { tokens: 4 },
    ].map(refusal);
    expect(refusals).toEqual([
      'TypeError: responsesRouter: compaction: key must be a text or bytes, at least 16 bytes long, got a text of 9 bytes',
      'TypeError: responsesRouter: compaction: key must be a text or bytes, at least 16 bytes long, got 15 bytes',
      'TypeError: responsesRouter: compaction: key must be a text or bytes, at least 16 bytes long, got a number',
      'TypeError: responsesRouter: compaction must be an object, got a text of 9 bytes',
      "TypeError: responsesRouter: compaction: unknown option 'keys'; known are prompt, key",
      "TypeError: responsesRouter: compaction: prompt must be a text, got ' '",
      'TypeError: responsesRouter: tokens: count must be a function, got 4',
      'TypeError: responsesRouter: tokens must be an object, got 4',
    ]);
    expect(refusals.join()).not.toContain(SECRET);
  });
});
