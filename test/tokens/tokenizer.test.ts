/** Counting the tokens of texts. */
import { encodedTokens, estimatedTokens, loadEncoding, tokensOf } from '../../src/tokens/tokenizer.ts';

const PROSE = 'The quick brown fox jumps over the lazy dog. ';

describe('tokensOf', () => {
  it('[S-14] counts as OpenAI does, with the tokenizer that is installed', async () => {
    // By OpenAI's own tiktoken, o200k_base.
    expect(await Promise.all(['', 'hello world', 'tiktoken is great!'].map(tokensOf))).toEqual([0, 2, 6]);
  });

  it('[S-14] takes what looks like a special token for the text that it is', async () => {
    expect(await tokensOf('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('[S-14] [P-14] is not held up by one endless word, and lets others run meanwhile', async () => {
    let turns = 0;
    const counting = tokensOf('a'.repeat(60_000));
    const beat = setInterval(() => (turns += 1), 1);
    const tokens = await counting;
    clearInterval(beat);
    expect([tokens > 5000 && tokens < 10_000, turns > 2]).toEqual([true, true]);
  }, 20_000);
});

describe('encodedTokens', () => {
  it('[S-14] takes what is behind the first million characters to be like what came before', async () => {
    let seen = 0;
    const encode = (text: string) => {
      seen += text.length;
      return Array(Math.ceil(text.length / 5)).fill(0);
    };
    const tokens = await encodedTokens('word '.repeat(600_000), { encode });
    expect([seen, Math.round(tokens / 10_000)]).toEqual([1_000_000, 60]);
  });

  it('[S-14] leaves no character out, wherever it cuts', async () => {
    const seen: string[] = [];
    const encode = (text: string) => {
      seen.push(text);
      return [0];
    };
    const text = `${PROSE.repeat(300)}${'x'.repeat(500)}${' '.repeat(300)}😀${'字'.repeat(200)}\n`;
    await encodedTokens(text, { encode });
    expect([seen.join(''), seen.length > 10]).toEqual([text, true]);
  });
});

describe('where there is no tokenizer', () => {
  it('[S-14] nothing is loaded, and four characters are one token', async () => {
    const encoding = await loadEncoding(() => Promise.reject(new Error('Cannot find package')));
    expect([encoding, estimatedTokens(''), estimatedTokens('abcde')]).toEqual([undefined, 0, 2]);
  });
});
