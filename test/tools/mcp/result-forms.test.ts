/** Each kind of content of a result in its three forms: for Chat Completions, for Anthropic, and for clients. */

import { toolMessages } from '../../../src/protocol/chat-completions/messages.ts';
import type { Item } from '../../../src/protocol/items.ts';
import { mcpCall } from '../../../src/protocol/tool-calls/mcp-call.ts';
import { toToolResult } from '../../../src/tools/mcp/shared/results/tool-result.ts';
import { toConversation } from '../../../src/upstreams/anthropic/messages.ts';
import { PIXEL } from '../../support/mcp-tool-set.mjs';

const URL = `data:image/png;base64,${PIXEL}`;
const ATTACHED = '(The output is attached in the next message.)';

/** What the model of a Chat Completions server, Claude and the client receive of a result. */
function formsOf(result: object) {
  const { content: output, isError: failed = false } = toToolResult({ ...result }, { redact: (text) => text });
  const call = { id: 'call_1', name: 'look', arguments: '{}', output };
  const items: readonly Item[] = [
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output },
  ];
  const { messages } = toConversation({ model: 'm', items, tools: [] }, () => {});
  const [block] = messages.at(-1)?.content ?? [];
  const shown = { id: 'mcp_1', callId: 'call_1', clientTool: { name: 'look' }, arguments: '{}', input: '' };
  const item: Item = mcpCall.finished(
    { ...shown, owner: { server: 'eyes', name: 'look' }, approvalRequestId: null },
    { output, failed },
  );
  return {
    chat: toolMessages([call]).map(({ role, content }) => ({ role, content })),
    anthropic: block?.content,
    client: item.output ?? item.error,
  };
}

const asText = (text: string) => ({
  chat: [{ role: 'tool', content: text }],
  anthropic: [{ type: 'text', text }],
  client: text,
});

const seen = (...texts: readonly string[]) => ({
  chat: [
    { role: 'tool', content: texts.join('\n') || ATTACHED },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: URL } }] },
  ],
  anthropic: [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    ...texts.map((text) => ({ type: 'text', text })),
  ],
  client: ['[image/png, 70 bytes]', ...texts].join('\n'),
});

const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const embedded = (resource: object) => ({ type: 'resource', resource: { uri: 'file:///a', ...resource } });

describe('the forms of a result', () => {
  it.each<[string, object, unknown]>([
    ['text', { content: [{ type: 'text', text: 'Hello.' }] }, asText('Hello.')],
    ['texts', { content: ['a', 'b'].map((text) => ({ type: 'text', text })) }, asText('a\nb')],
    ['an image', { content: [image] }, seen()],
    ['an image and text', { content: [image, { type: 'text', text: 'A dot.' }] }, seen('A dot.')],
    [
      'an image of an odd format',
      { content: [{ ...image, mimeType: 'image/bmp' }] },
      asText('[image image/bmp, 70 bytes]'),
    ],
    [
      'audio',
      { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] },
      asText('[audio audio/wav, 3 bytes]'),
    ],
    ['an embedded text', { content: [embedded({ text: 'Notes.' })] }, asText('[resource file:///a]\nNotes.')],
    ['an embedded image', { content: [embedded({ mimeType: 'image/png', blob: PIXEL })] }, seen()],
    [
      'other embedded bytes',
      { content: [embedded({ mimeType: 'application/zip', blob: 'AAAA' })] },
      asText('[resource file:///a, application/zip, 3 bytes]'),
    ],
    [
      'a link',
      { content: [{ type: 'resource_link', name: 'Notes', uri: 'file:///n' }] },
      asText('[resource link Notes, file:///n]'),
    ],
    ['structured content', { content: [], structuredContent: { degrees: 21 } }, asText('{"degrees":21}')],
    [
      'structured content that a text repeats',
      { content: [{ type: 'text', text: '{"degrees":21}' }], structuredContent: { degrees: 21 } },
      asText('{"degrees":21}'),
    ],
    [
      'an image and structured content',
      { content: [image], structuredContent: { of: 'a dot' } },
      seen('{"of":"a dot"}'),
    ],
    ['nothing', { content: [] }, { chat: [{ role: 'tool', content: '' }], anthropic: undefined, client: '' }],
    ['another kind', { content: [{ type: 'hologram' }] }, asText('[hologram left out]')],
    [
      'a failure',
      { content: [{ type: 'text', text: 'No.' }], isError: true },
      { ...asText('No.'), client: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'No.' }] } },
    ],
  ])('[T-08] are defined for %s', (_name, result, forms) => {
    expect(formsOf(result)).toEqual(forms);
  });
});
