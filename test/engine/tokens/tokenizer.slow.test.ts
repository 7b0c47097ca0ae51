/** Counting the tokens of texts. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import fc from 'fast-check';
import { bytePairCounter, type Ranks } from '../../../src/engine/tokens/byte-pairs.ts';
import { encodedTokens, loadEncoding } from '../../../src/engine/tokens/encoding.ts';
import { countTextTokens, estimatedTokens } from '../../../src/engine/tokens/tokenizer.ts';
import { TokenizerThread } from '../../../src/engine/tokens/tokenizer-thread.ts';
import { describeWhere } from '../../support/skipping.ts';

const peers = join(import.meta.dirname, '../../peers/node_modules');
// The thread finds it there.
const isInstalled = existsSync(join(peers, 'js-tiktoken')) && process.env.NODE_PATH === peers;
if (!isInstalled && process.env.CI === 'true') throw new Error('CI needs js-tiktoken: npm run test:slow installs it.');
const describeTokenizer = describeWhere(isInstalled, 'needs js-tiktoken, which `npm run test:slow` installs');

const PROSE = 'The quick brown fox jumps over the lazy dog. ';

describeTokenizer('tokensOf', () => {
  it('[S-14] counts as OpenAI does, with the tokenizer that is installed', async () => {
    // By OpenAI's own tiktoken, o200k_base.
    const texts = ['', 'hello world', 'tiktoken is great!'];
    expect(await Promise.all(texts.map((text) => countTextTokens(text)))).toEqual([0, 2, 6]);
  });

  it('[S-14] takes what looks like a special token for the text that it is', async () => {
    expect(await countTextTokens('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('[F-12] [S-14] [P-14] is not held up by one endless word, and holds nobody up', async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const tokens = await countTextTokens('a'.repeat(60_000));
    clearInterval(timer);
    expect([tokens > 5000 && tokens < 10_000, turns > 0]).toEqual([true, true]);
  }, 120_000);

  it('[F-12] is given up when its signal is aborted, before and while it counts', async () => {
    const stop = new AbortController();
    const counting = countTextTokens(PROSE.repeat(20_000), stop.signal);
    stop.abort(new Error('left'));
    await expect(counting).rejects.toThrow('left');
    await expect(countTextTokens('a', stop.signal)).rejects.toThrow('left');
  });

  it('[F-12] counts a short text while a long one is counted', async () => {
    const ends: string[] = [];
    const long = countTextTokens(PROSE.repeat(20_000)).then(() => ends.push('long'));
    await Promise.all([long, countTextTokens('short').then(() => ends.push('short'))]);
    expect(ends).toEqual(['short', 'long']);
  });

  it('[F-12] takes what is behind the first million characters to be like what came before', async () => {
    const [million, three] = await Promise.all([1, 3].map((times) => countTextTokens('word '.repeat(200_000 * times))));
    expect(three).toBe((million ?? 0) * 3);
  });
});

describeTokenizer('TokenizerThread', () => {
  it('[F-12] refuses more than it may count at the same time, and has room again afterwards', async () => {
    const thread = new TokenizerThread();
    const text = ' '.repeat(8_000_000);
    const stop = new AbortController();
    const counting = [thread.count(text, stop.signal), thread.count(text, stop.signal)];
    await expect(thread.count('a')).rejects.toMatchObject({ code: 'too_many_streams' });
    stop.abort(new Error('left'));
    expect((await Promise.allSettled(counting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await thread.count('hello world')).toBe(2);
    await thread.close();
  });

  it('[F-12] has a text that nobody waits for any more counted no further', async () => {
    const thread = new TokenizerThread(join(import.meta.dirname, 'stops-worker.mjs'));
    const stop = new AbortController();
    const counting = [1, 2].map(() => thread.count('text', stop.signal));
    expect(await thread.count('stops')).toBe(0);
    stop.abort(new Error('left'));
    await Promise.allSettled(counting);
    expect(await thread.count('stops')).toBe(2);
    await thread.close();
  });

  it('[F-12] refuses a text too many, however short they are', async () => {
    const thread = new TokenizerThread();
    const counting = Array.from({ length: 256 }, () => thread.count('a'));
    await expect(thread.count('a')).rejects.toMatchObject({ code: 'too_many_streams' });
    expect(new Set(await Promise.all(counting))).toEqual(new Set([1]));
    await thread.close();
  });

  it('[F-12] leaves texts to the estimate where no thread can be started, and reports it once', async () => {
    const warnings: string[] = [];
    const thread = new TokenizerThread('/nowhere.js', (message) => void warnings.push(message));
    const counted = [
      await countTextTokens('abcde', undefined, thread),
      await countTextTokens('abcde', undefined, thread),
    ];
    expect([counted, warnings]).toEqual([[2, 2], [expect.stringContaining('cannot be started')]]);
  });

  it('[F-12] answers what is being counted when it is closed, and starts anew', async () => {
    const thread = new TokenizerThread();
    await thread.count('a');
    const counting = thread.count(PROSE.repeat(20_000));
    await thread.close();
    expect([await counting, await thread.count('hello world')]).toEqual([undefined, 2]);
    await thread.close();
  });
});

describeTokenizer('bytePairCounter', () => {
  it('[F-12] [S-14] counts any text as js-tiktoken does', () => {
    const load = createRequire(join(peers, 'tests.js'));
    const o200k: Ranks = load('js-tiktoken/ranks/o200k_base');
    const { Tiktoken } = load('js-tiktoken/lite');
    const theirs = new Tiktoken(o200k);
    const count = bytePairCounter(o200k);
    const text = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.lorem()));
    fc.assert(
      fc.property(text, (parts) => {
        const whole = parts.join('');
        expect(count(whole)).toBe(theirs.encode(whole, [], []).length);
      }),
    );
  });

  it('[F-12] knows what is no encoding', () => {
    expect(() => bytePairCounter({ pat_str: '.', bpe_ranks: '! 0 YQ==' })).toThrow(TypeError);
  });
});

describe('encodedTokens', () => {
  it('[S-14] leaves no character out, wherever it cuts', () => {
    const seen: string[] = [];
    const count = (text: string) => seen.push(text);
    const text = `${PROSE.repeat(300)}${'x'.repeat(500)}${' '.repeat(300)}😀${'字'.repeat(200)}\n`;
    const parts = [...encodedTokens(text, count)];
    expect([seen.join(''), seen.length > 10, parts.length > 2]).toEqual([text, true, true]);
  });
});

describe('where there is no tokenizer', () => {
  it('[S-14] nothing is loaded, and four characters are one token', async () => {
    const encoding = await loadEncoding(() => Promise.reject(new Error('Cannot find package')));
    expect([encoding, estimatedTokens(''), estimatedTokens('abcde')]).toEqual([undefined, 0, 2]);
  });
});
