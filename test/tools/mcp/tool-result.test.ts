/** What tools answer, in the parts of a function_call_output. */

import { wrongIn } from '../../../src/protocol/json/check-value.ts';
import { toToolResult } from '../../../src/tools/mcp/shared/results/tool-result.ts';
import { PIXEL } from '../../support/mcp-tool-set.mjs';

const same = { redact: (text: string) => text };

function content(...blocks: readonly unknown[]) {
  return toToolResult({ content: blocks }, same).content;
}

const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const imagePart = { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` };

describe('toToolResult', () => {
  it('[T-08] joins texts', () => {
    expect(content({ type: 'text', text: 'a' }, { type: 'text', text: 'b' })).toBe('a\nb');
  });

  it('[T-08] keeps images between texts', () => {
    expect(content({ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' })).toEqual([
      { type: 'input_text', text: 'a' },
      imagePart,
      { type: 'input_text', text: 'b' },
    ]);
  });

  it('[T-08] describes audio', () => {
    expect(content({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })).toBe('[audio audio/wav, 3 bytes]');
  });

  it('[T-08] writes an embedded text with its address', () => {
    expect(content({ type: 'resource', resource: { uri: 'file:///a', text: 'hello' } })).toBe(
      '[resource file:///a]\nhello',
    );
  });

  it('[T-08] keeps an embedded image, and describes other bytes', () => {
    const blob = (mimeType: string) => ({ type: 'resource', resource: { uri: 'file:///a', mimeType, blob: PIXEL } });
    expect(content(blob('image/png'), blob('application/gzip'))).toEqual([
      imagePart,
      { type: 'input_text', text: '[resource file:///a, application/gzip, 70 bytes]' },
    ]);
  });

  it('[T-08] describes links', () => {
    const link = { type: 'resource_link', name: 'Notes', uri: 'file:///n', mimeType: 'text/plain', description: 'Old' };
    expect(content(link)).toBe('[resource link Notes, text/plain, file:///n, Old]');
  });

  it.each([
    ['an SVG', { ...image, mimeType: 'image/svg+xml' }, '[image image/svg+xml, 70 bytes]'],
    ['a bitmap', { ...image, mimeType: 'image/bmp' }, '[image image/bmp, 70 bytes]'],
    ['a type with a comma', { ...image, mimeType: 'image/png,x' }, '[image image/png,x, 70 bytes]'],
    ['bad base64', { ...image, data: '"><' }, '[image image/png, 2 bytes]'],
    ['half a byte', { ...image, data: 'A' }, '[image image/png, 0 bytes]'],
  ])('[T-08] describes %s, which would fail the whole turn as an image', (_name, block, expected) => {
    expect(content(block)).toBe(expected);
  });

  it.each([
    ['without its padding', PIXEL.replace(/=+$/, '')],
    ['in lines', PIXEL.replace(/.{76}/g, '$&\n')],
  ])('[T-08] mends an image that is written %s, which would fail the whole turn', (_name, data) => {
    expect(content({ ...image, data })).toEqual([imagePart]);
  });

  const written = (...texts: readonly string[]) => texts.map((text) => ({ type: 'text', text }));
  const resource = { type: 'resource', resource: { uri: 'file:///a', text: '{"degrees":21}' } };

  it.each<[string, readonly unknown[], unknown, unknown]>([
    ['beside nothing', [], { degrees: 21 }, '{"degrees":21}'],
    ['beside other words', written('It is warm.'), { degrees: 21 }, 'It is warm.\n{"degrees":21}'],
    ['beside a picture', [image], { degrees: 21 }, [imagePart, { type: 'input_text', text: '{"degrees":21}' }]],
    ['beside one member of a list', written('1'), { result: [1, 2] }, '1\n{"result":[1,2]}'],
  ])('[T-08] [F-23] writes structured content as JSON %s', (_where, blocks, structuredContent, expected) => {
    expect(toToolResult({ content: blocks, structuredContent }, same).content).toEqual(expected);
  });

  it.each<[string, readonly unknown[], unknown]>([
    ['as JSON', written('{"degrees":21}'), { degrees: 21 }],
    ['as JSON in another order, on lines', written('{\n "b": 2,\n "a": 1\n}'), { a: 1, b: 2 }],
    ['as JSON behind words', written('Here:', '{"degrees":21}'), { degrees: 21 }],
    ['as JSON in a resource', [resource], { degrees: 21 }],
    ['as the one result', written('{"degrees":21}'), { result: { degrees: 21 } }],
    ['as the one result, a text', written('warm'), { result: 'warm' }],
    ['as the one result, a list', written('{"a":1}', 'two', '3'), { result: [{ a: 1 }, 'two', 3] }],
    ['as the one value, by any name', written('What to read.'), { content: 'What to read.' }],
    ['as a picture', [image], { result: { ...image, annotations: null } }],
  ])('[F-23] sends the model once what blocks hold %s', (_how, blocks, structuredContent) => {
    expect(toToolResult({ content: blocks, structuredContent }, same)).toEqual(toToolResult({ content: blocks }, same));
  });

  it('[F-23] writes no bytes of a picture as text', () => {
    const structuredContent = { shot: PIXEL, of: 'a page' };
    expect(toToolResult({ content: [image], structuredContent }, same).content).toEqual([
      imagePart,
      { type: 'input_text', text: '{"shot":"[70 bytes]","of":"a page"}' },
    ]);
  });

  it('[F-23] describes structured content that is nested deeper than the stack', () => {
    const structuredContent = JSON.parse(`${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`);
    expect(toToolResult({ content: written('x'), structuredContent }, same).content).toBe(
      'x\n[structured content, nested too deeply]',
    );
  });

  it('[T-08] names a JPEG as models do', () => {
    expect(content({ ...image, mimeType: 'image/JPG' })).toEqual([
      { type: 'input_image', image_url: `data:image/jpeg;base64,${PIXEL}` },
    ]);
  });

  it('[T-08] carries isError', () => {
    const result = { content: [{ type: 'text', text: 'no' }], isError: true };
    expect(toToolResult(result, same)).toEqual({ content: 'no', isError: true });
  });

  it('names what it does not know', () => {
    expect(content({ type: 'hologram', data: 'AAAA' }, {}, { type: { toString: 1 } })).toBe(
      '[hologram left out]\n[block left out]\n[block left out]',
    );
  });

  it('reads a text that is none as empty', () => {
    expect(content({ type: 'text' }, { type: 'text', text: { toString: 1 } }, { type: 'text', text: 'kept' })).toBe(
      '\n\nkept',
    );
  });

  it('makes an empty text of nothing', () => {
    expect([content(), toToolResult({}, same).content]).toEqual(['', '']);
  });

  it('[A-35] redacts texts and leaves images alone', () => {
    const result = toToolResult({ content: [{ type: 'text', text: 'secret' }, image] }, { redact: () => '***' });
    expect(result.content).toEqual([{ type: 'input_text', text: '***' }, imagePart]);
  });
});

describe('a result of a tool with an output schema', () => {
  const schema = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] };
  const text = [{ type: 'text', text: 'It is warm.' }];

  const promised = (result: object, of: object = schema) =>
    toToolResult(
      { ...result },
      { redact: (text) => text.replaceAll('secret', '***'), output: { schema: { ...of }, check: wrongIn } },
    );

  it('[T-08] is as it is where it keeps the promise, or failed', () => {
    expect([
      promised({ content: text, structuredContent: { degrees: 21 } }),
      promised({ content: text, isError: true }),
      promised({ content: text, structuredContent: { degrees: '?' }, isError: true }).content,
    ]).toEqual([
      { content: 'It is warm.\n{"degrees":21}' },
      { content: 'It is warm.', isError: true },
      'It is warm.\n{"degrees":"?"}',
    ]);
  });

  it('[T-08] is a failed call that reports what is wrong, and what the tool answered', () => {
    expect(promised({ content: [image, ...text], structuredContent: { degrees: 'warm' } })).toEqual({
      content: [
        {
          type: 'input_text',
          text: 'The result does not match the tool\'s output schema: Instance type "string" is invalid. Expected "number". (path=#/degrees). It answered:',
        },
        imagePart,
        { type: 'input_text', text: 'It is warm.' },
        { type: 'input_text', text: '{"degrees":"warm"}' },
      ],
      isError: true,
    });
  });

  it('[T-08] is a failed call where it has no structured content', () => {
    expect(promised({ content: text })).toEqual({
      content: 'The tool has an output schema, but its result has no structured content. It answered:\nIt is warm.',
      isError: true,
    });
  });

  it('[T-08] is reported in few words without secrets, whatever the schema holds', () => {
    const { content } = promised(
      { content: [], structuredContent: { degrees: 1 } },
      { properties: { degrees: { enum: [`secret${'x'.repeat(100_000)}`] } } },
    );
    expect([
      String(content).length < 1_200,
      String(content).includes('***x'),
      String(content).includes('secret'),
    ]).toEqual([true, true, false]);
  });

  it('[T-08] is a failed call where nobody can read it', () => {
    const structuredContent = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
    expect(promised({ content: text, structuredContent }).content).toBe(
      "The result does not match the tool's output schema: the value is nested too deeply. It answered:\nIt is warm.\n[structured content, nested too deeply]",
    );
  });
});
