/** Calls that a server has run: as the two blocks that show them, and from these as items. */

import { fetchedPage, WEB_FETCH } from '../../protocol/anthropic/fetched-page.ts';
import type { CodeInterpreterCallItem, McpCallItem, OutputItem, WebSearchCallItem } from '../../protocol/items.ts';
import { exactText } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { argumentsObject } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { codeInterpreterCall, codeOutputText } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { mcpCall } from '../../protocol/tool-calls/mcp-call.ts';
import { callErrorText } from '../../protocol/tool-calls/results/call-error.ts';
import { webSearchCall } from '../../protocol/tool-calls/web-search-call.ts';
import { SEALED } from './hidden-items.ts';
import type { Block } from './request/schema.ts';

/** A use and its result. */
export type Blocks = readonly [Block, Block];

/** Writes the items that blocks can show, by their type. The casts: each reads the items of its type. */
export const SERVER_BLOCKS: ReadonlyMap<string, (item: OutputItem) => Blocks> = new Map<
  string,
  (item: OutputItem) => Blocks
>([
  [mcpCall.type, (item) => mcpBlocks(item as McpCallItem)],
  [webSearchCall.type, (item) => webBlocks(item as WebSearchCallItem)],
  [codeInterpreterCall.type, (item) => codeBlocks(item as CodeInterpreterCallItem)],
]);

type StateOf = ((item: OutputItem) => unknown) | undefined;

/**
 * The use and its result; none for an item of another kind. `stateOf` opens what the model's own server needs back: a page that it
 * has fetched is shown as that server shows it, and under its own id, so that it comes back whole.
 */
export function serverBlocks(item: OutputItem, stateOf: StateOf): readonly Block[] {
  return fetchBlocks(item, stateOf) ?? SERVER_BLOCKS.get(item.type)?.(item) ?? [];
}

function fetchBlocks(item: OutputItem, stateOf: StateOf): Blocks | undefined {
  if (item.type !== webSearchCall.type || item.encrypted_content === undefined || item.results) return undefined;
  if (item.action.type === 'search') return undefined;
  // The cast: both have a type, as the server that fetched wrote them.
  return fetchedPage(stateOf?.(item)) as Blocks | undefined;
}

const SERVER_ID = 'srvtoolu_';
const MCP_ID = 'mcptoolu_';
const OWN_USES = [mcpCall, webSearchCall, codeInterpreterCall].flatMap(({ idPrefix }) =>
  [SERVER_ID, MCP_ID].map((head) => `${head}${idPrefix}_`),
);

/** Whether this server has made the id of a use. */
export function isOwnUse(id: unknown): boolean {
  return typeof id === 'string' && OWN_USES.some((beginning) => id.startsWith(beginning));
}

function mcpBlocks({ id: itemId, name, server_label: server, arguments: text, output, error }: McpCallItem): Blocks {
  const id = MCP_ID + itemId;
  const result = output ?? callErrorText(error);
  // One that was cut off has neither, and has not run.
  const failed = output === null;
  return [
    { type: 'mcp_tool_use', id, name, server_name: server, input: argumentsObject(text) },
    { type: 'mcp_tool_result', tool_use_id: id, is_error: failed, content: [{ type: 'text', text: result }] },
  ];
}

function codeBlocks({ id: itemId, code, outputs, status }: CodeInterpreterCallItem): Blocks {
  const id = SERVER_ID + itemId;
  const failed = status !== 'completed';
  const text = codeOutputText(outputs ?? []);
  const result = {
    type: 'code_execution_result',
    stdout: failed ? '' : text,
    stderr: failed ? text : '',
    return_code: failed ? 1 : 0,
    content: [],
  };
  return [
    { type: 'server_tool_use', id, name: 'code_execution', input: { code } },
    { type: 'code_execution_tool_result', tool_use_id: id, content: result },
  ];
}

function webBlocks({ id: itemId, action, status, results, encrypted_content: state = '' }: WebSearchCallItem): Blocks {
  const id = SERVER_ID + itemId;
  const isSearch = action.type === 'search';
  const name = isSearch ? 'web_search' : WEB_FETCH;
  const input = isSearch ? { query: action.query } : { url: action.url };
  const type = `${name}_tool_result`;
  let content: unknown;
  if (status === 'failed') {
    const isOverLimit = results?.some(({ text }) => text.startsWith(MAX_USES));
    content = { type: `${type}_error`, error_code: isOverLimit ? MAX_USES : 'unavailable' };
  } else if (isSearch) {
    // The texts, or the state of the server that searched, are in the field that clients send back as it is.
    const pages = results ?? (action.sources ?? []).map(({ url }) => ({ url, title: url, text: '' }));
    content = pages.map(({ url = '', title = url, text }, index) => ({
      type: 'web_search_result',
      url,
      title,
      page_age: null,
      encrypted_content: index === 0 && state !== '' ? state : text,
    }));
  } else {
    const data = (results ?? []).map(({ text }) => text).join('\n');
    const source = { type: 'text', media_type: 'text/plain', data };
    content = { type: 'web_fetch_result', url: action.url, retrieved_at: null, content: { type: 'document', source } };
  }
  return [
    { type: 'server_tool_use', id, name, input },
    { type, tool_use_id: id, content },
  ];
}

const MAX_USES = 'max_uses_exceeded';

/** The item of two blocks; undefined for other tools. `seal` seals the blocks for Anthropic's own servers, which need them back. */
export function serverCallItem(
  use: Block,
  result: Block,
  seal: (blocks: Blocks) => string | undefined,
): JsonObject | undefined {
  const id = plainText(use.id).replace(/^(srvtoolu|mcptoolu)_/, '');
  const input = isRecord(use.input) ? use.input : {};
  if (use.type === 'mcp_tool_use') {
    const { content, is_error: failed } = result;
    const texts = Array.isArray(content) ? content.filter(isRecord).map((part) => plainText(part.text)) : [];
    const text = texts.length > 0 ? texts.join('\n') : plainText(content);
    const error = failed === true ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } : null;
    return {
      type: mcpCall.type,
      id,
      name: use.name,
      server_label: use.server_name,
      arguments: exactText(use.input),
      output: error ? null : text,
      error,
      status: error ? 'failed' : 'completed',
      approval_request_id: null,
    };
  }
  if (use.name === 'web_search' || use.name === 'web_fetch') return searchItem(id, use, result, seal);
  if (!/^(bash_)?code_execution_tool_result$/.test(result.type)) return undefined;
  const { stdout, stderr, return_code: code, content } = isRecord(result.content) ? result.content : {};
  const logs = [stdout, stderr, plainText(content)].map(plainText).filter(Boolean).join('\n');
  return {
    type: codeInterpreterCall.type,
    id,
    status: code === 0 ? 'completed' : 'failed',
    container_id: '',
    code: plainText(input.code ?? input.command),
    outputs: [{ type: 'logs', logs }],
  };
}

function searchItem(id: string, use: Block, result: Block, seal: (blocks: Blocks) => string | undefined): JsonObject {
  const { name, input } = use;
  const { content } = result;
  const { query, url } = isRecord(input) ? input : {};
  const action =
    name === 'web_search'
      ? { type: 'search', query: plainText(query), queries: [plainText(query)] }
      : { type: 'open_page', url: plainText(url) };
  const pages = recordsIn(content);
  const state = plainText(pages[0]?.encrypted_content);
  const isPair = result.type === `${name}_tool_result`;
  const foreign = isPair && !isOwnUse(use.id) ? seal([use, result]) : undefined;
  const sealed = state.startsWith(SEALED) ? state : foreign;
  const isFailed = isRecord(content) && plainText(content.type).endsWith('_error');
  const item = { type: webSearchCall.type, id, action, status: isFailed ? 'failed' : 'completed' };
  if (sealed !== undefined) return { ...item, encrypted_content: sealed };
  if (isFailed) return { ...item, results: [{ text: `The call failed: ${plainText(content.error_code)}` }] };
  const document = isRecord(content) && isRecord(content.content) ? content.content.source : undefined;
  if (isRecord(document)) return { ...item, results: [{ text: plainText(document.data) }] };
  const results = pages.map((page) => ({
    url: plainText(page.url),
    title: plainText(page.title),
    text: plainText(page.encrypted_content),
  }));
  return { ...item, results };
}
