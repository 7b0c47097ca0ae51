/** What tools answer, in the parts of a function_call_output. */
import { toToolResult } from '../../src/mcp/shared/tool-result.ts';
import { PIXEL } from '../support/mcp-tool-set.mjs';

const same = (text: string) => text;

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
    ['a type with a comma', { ...image, mimeType: 'image/png,x' }, '[image image/png,x, 70 bytes]'],
    ['bad base64', { ...image, data: '"><' }, '[image image/png, 2 bytes]'],
  ])('[T-08] describes %s, which would fail the whole turn as an image', (_name, block, expected) => {
    expect(content(block)).toBe(expected);
  });

  it('[T-08] writes structured content as JSON where no text repeats it', () => {
    const structuredContent = { degrees: 21 };
    const text = { type: 'text', text: '21 degrees' };
    expect([
      toToolResult({ structuredContent }, same).content,
      toToolResult({ content: [text], structuredContent }, same).content,
      toToolResult({ content: [image], structuredContent }, same).content,
    ]).toEqual(['{"degrees":21}', '21 degrees', [imagePart, { type: 'input_text', text: '{"degrees":21}' }]]);
  });

  it('[T-08] carries isError', () => {
    const result = { content: [{ type: 'text', text: 'no' }], isError: true };
    expect(toToolResult(result, same)).toEqual({ content: 'no', isError: true });
  });

  it('names what it does not know', () => {
    expect(content({ type: 'hologram', data: 'AAAA' })).toBe('[hologram left out]');
  });

  it('makes an empty text of nothing', () => {
    expect([content(), toToolResult({}, same).content]).toEqual(['', '']);
  });

  it('[A-35] redacts texts and leaves images alone', () => {
    const result = toToolResult({ content: [{ type: 'text', text: 'secret' }, image] }, () => '***');
    expect(result.content).toEqual([{ type: 'input_text', text: '***' }, imagePart]);
  });
});
