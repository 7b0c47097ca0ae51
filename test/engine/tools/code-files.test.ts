/** The files of a conversation: what they are called, and what the model receives of them. */
import fc from 'fast-check';
import { codeFiles, withNamedFiles } from '../../../src/engine/tools/code-files.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const part = (filename: string | undefined, data: string) => ({ type: 'input_file', filename, file_data: data });
const message = (...content: readonly object[]) => ({ type: 'message', role: 'user', content });
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the files of a conversation', () => {
  it('[T-11] are all there, each content once under each name, and reported under their names', () => {
    const filename = fc.constantFrom('a.csv', 'a-2.csv', 'x/a.csv', 'b', 'b-2', undefined);
    const file = fc.tuple(filename, fc.constantFrom('1', '2', '3'));
    fc.assert(
      fc.property(fc.array(file, { maxLength: 12 }), (files) => {
        const conversation = files.map(([name, text]) => message(part(name, base64(text))));
        const found = new Map(codeFiles(conversation).map(({ name, data }) => [name, String(Buffer.from(data))]));
        const reported = withNamedFiles(conversation, conversation).map(({ content }) => JSON.stringify(content));
        const names = reported.map((text) => /'([^']+)'/.exec(text)?.[1] ?? '');
        expect(names.map((name) => found.get(name))).toEqual(files.map(([, text]) => text));
        expect(new Set(names).size).toBe(found.size);
      }),
    );
  });

  it('[T-11] have the same names when the conversation goes on', () => {
    const file = fc.tuple(fc.constantFrom('a.csv', 'a-2.csv'), fc.constantFrom('1', '2'));
    fc.assert(
      fc.property(fc.array(file, { maxLength: 8 }), fc.nat(8), (files, count) => {
        const conversation = files.map(([name, text]) => message(part(name, base64(text))));
        const before = conversation.slice(0, count);
        expect(withNamedFiles(conversation, conversation).slice(0, count)).toEqual(withNamedFiles(before, before));
      }),
    );
  });

  it.each([
    ['of 255 Chinese characters', `${'字'.repeat(251)}.csv`, `${'字'.repeat(65)}.csv`],
    ['of emoji', `${'😀'.repeat(120)}.csv`, `${'😀'.repeat(49)}.csv`],
    ['of 300 letters', `${'n'.repeat(300)}.csv`, `${'n'.repeat(196)}.csv`],
    ['with half a surrogate pair', '\ud83d.csv', '\ufffd.csv'],
  ])('[T-11] have names that file systems take: %s', (_, filename, expected) => {
    const conversation = [message(part(filename, base64('1')))];
    expect(codeFiles(conversation).map(({ name }) => name)).toEqual([expected]);
    expect(JSON.stringify(withNamedFiles(conversation, conversation))).toContain(`'${expected}'`);
  });

  it('[T-11] are named in linear work, however many have one name', async () => {
    await expectLinearWork(1000, (size) => {
      const conversation = [message(...Array.from({ length: size }, (_, at) => part('a.csv', base64(String(at)))))];
      expect(codeFiles(conversation).at(-1)?.name).toBe(`a-${size}.csv`);
    });
  });

  it('[T-11] are those of messages alone, and with data', () => {
    const file = part('a.csv', base64('1'));
    const items = [
      { type: 'function_call_output', call_id: 'c', output: [file] },
      message({ type: 'input_file', file_url: 'https://example.com/a.csv' }, { type: 'input_text', text: 'Hi' }),
      { type: 'message', role: 'user', content: 'Hi' },
    ];
    expect([codeFiles(items), withNamedFiles(items, items)]).toEqual([[], items]);
  });
});
