/** The options `secret`, `compaction` and `countTokens`, as a router takes them. */
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
  it('[S-14] take a prompt and a secret of at least 16 bytes, and undefined for either', () => {
    const secret = 'k'.repeat(16);
    const passed = [
      {},
      { secret },
      { secret: Buffer.from(secret), compaction: {} },
      { compaction: { prompt: 'Sum up.' } },
      { compaction: { prompt: undefined }, secret: undefined, countTokens: undefined },
    ];
    expect(passed.map(refusal)).toEqual(passed.map(() => 'taken'));
  });

  it('[S-14] name what is wrong, and never show the secret', () => {
    const refusals = [
      { secret: SECRET },
      { secret: new Uint8Array(15) },
      { secret: 17 },
      { compaction: { secret: SECRET } },
      { compaction: { prompt: ' ' } },
      { compaction: 3 },
      { countTokens: 4 },
    ].map(refusal);
    expect(refusals).toEqual([
      'TypeError: responsesRouter: secret must be a text or bytes, at least 16 bytes long, got a text of 9 bytes',
      'TypeError: responsesRouter: secret must be a text or bytes, at least 16 bytes long, got 15 bytes',
      'TypeError: responsesRouter: secret must be a text or bytes, at least 16 bytes long, got a number',
      "TypeError: responsesRouter: compaction: unknown option 'secret'; known are prompt",
      "TypeError: responsesRouter: compaction: prompt must be a text, got ' '",
      'TypeError: responsesRouter: compaction must be an object, got 3',
      'TypeError: responsesRouter: countTokens must be a function, got 4',
    ]);
    expect(refusals.join()).not.toContain(SECRET);
  });
});
