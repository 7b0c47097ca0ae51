/** What docs/compatibility.md says of this server's own work is shown by tests that are there, by their names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compatibilityRows } from '../support/compatibility.ts';

const root = join(import.meta.dirname, '../..');

/** The words that no request with one field can show. */
const CITED: ReadonlySet<string> = new Set(['honoured', 'run here', 'always there']);

/** Its events are made by the connection, not by turns. */
const SOCKET_TABLE = 'Messages of the WebSocket';

/** The test's file below `test`, and a part of its name, by table and line. */
type Citations = Readonly<Record<string, Readonly<Record<string, readonly [file: string, name: string]>>>>;

const COMPACTION = 'http/compaction.test.ts';
const DEFERRED = 'apis/responses/deferred-client-tools.test.ts';
const EDITS = 'tools/image-generation/edits.test.ts';
const IMAGES = 'tools/image-generation/images.test.ts';
const REMOTE = 'engine/tools/remote.slow.test.ts';
const STEERING = 'hosts/websocket/steering.test.ts';
const INJECTION = 'multi-agent/injection.test.ts';
const FILE_SEARCHES = 'apis/vector-stores/file-search.test.ts';
const SEARCHES = 'tools/web-search/searches.test.ts';
const SOCKET = 'hosts/websocket/messages.test.ts';

const CITATIONS: Citations = {
  'Request fields': {
    background: [
      'http/background.test.ts',
      'is queued at once, in progress while the model answers, and whole afterwards',
    ],
    context_management: [COMPACTION, 'compacts a long conversation behind its answer'],
    conversation: ['http/conversations.test.ts', 'is added before its last event is sent'],
    include: ['tools/code-interpreter/runs.slow.test.ts', 'is shown no outputs unless it includes them'],
    max_tool_calls: ['engine/tools/approvals.slow.test.ts', 'counts to max_tool_calls as other calls do'],
    previous_response_id: ['http/openai-sdk.test.ts', 'continues with previous_response_id'],
    prompt: ['http/prompts.test.ts', 'fill a request in, and are shown in the resource'],
    store: ['http/stored-responses.test.ts', 'neither retrieves nor continues a response with store: false'],
    stream: ['http/responses-stream.test.ts', 'emits a text in the strict order'],
    stream_options: ['apis/responses/unknown-fields.test.ts', 'unless they ask for nothing'],
    truncation: ['http/truncation.test.ts', 'leaves out the oldest turns after a refusal, and says so in a note'],
  },
  Tools: {
    code_interpreter: ['tools/code-interpreter/runs.slow.test.ts', 'has the model’s code run in one response'],
    programmatic_tool_calling: [
      'tools/code-interpreter/programs/programs.test.ts',
      'runs in one response; its calls say whose they are, and the model receives what it wrote alone',
    ],
    tool_search: [DEFERRED, 'is found by the client’s own search'],
    mcp: [REMOTE, 'has its tools listed first, offered and run'],
    image_generation: ['tools/image-generation/images.test.ts', 'has the image made in one response'],
    file_search: [FILE_SEARCHES, 'sends the model passages below their marks'],
    web_search: [SEARCHES, 'has the model’s search run in one response'],
    web_search_2025_08_26: [SEARCHES, 'web_search_2025_08_26'],
    web_search_preview: [SEARCHES, 'web_search_preview'],
    web_search_preview_2025_03_11: [SEARCHES, 'web_search_preview_2025_03_11'],
  },
  'Fields of tools': {
    'code_interpreter.container': [
      'tools/code-interpreter/containers.test.ts',
      'keeps the state of one id between its runs',
    ],
    'custom.defer_loading': [DEFERRED, 'of a namespace is found with it'],
    'file_search.filters': ['apis/vector-stores/file-search.test.ts', 'a wrong filter'],
    'file_search.max_num_results': ['apis/vector-stores/file-search.test.ts', 'too many results'],
    'file_search.ranking_options': ['apis/vector-stores/filters.test.ts', 'ranking_options'],
    'file_search.vector_store_ids': ['apis/vector-stores/file-search.test.ts', 'an unknown vector store'],
    'function.defer_loading': [DEFERRED, 'is found by this server’s search'],
    'image_generation.action': [EDITS, 'is left where the request wants a new one'],
    'image_generation.background': [IMAGES, 'is sent on with its settings'],
    'image_generation.input_fidelity': [EDITS, 'whatever the model wants, with its settings'],
    'image_generation.input_image_mask': [EDITS, 'whatever the model wants, with its settings'],
    'image_generation.model': [IMAGES, 'is made by the model that it names, if the host names none'],
    'image_generation.moderation': [IMAGES, 'is sent on with its settings'],
    'image_generation.output_compression': [IMAGES, 'is sent on with its settings'],
    'image_generation.output_format': [IMAGES, 'is sent on with its settings'],
    'image_generation.partial_images': [
      'tools/image-generation/partial-images.test.ts',
      'are as many as the request wants, whatever the server sends',
    ],
    'image_generation.quality': [IMAGES, 'is sent on with its settings'],
    'image_generation.size': [IMAGES, 'is sent on with its settings'],
    'mcp.allowed_tools': [REMOTE, '%j leaves %j, also in the list'],
    'mcp.authorization': ['engine/tools/remote-mcp.slow.test.ts', 'that repeats the secrets shows none of them'],
    'mcp.defer_loading': ['engine/tools/tool-search.test.ts', 'is that of an entry that %s'],
    'mcp.headers': [REMOTE, 'is given its headers, which stand nowhere else'],
    'mcp.require_approval': [REMOTE, 'has calls that wait for approval if the request sets %s for it'],
    'mcp.server_label': [REMOTE, 'is one that the host lets requests name'],
    'mcp.server_url': [REMOTE, 'has its tools listed first, offered and run'],
    'shell.environment': [
      'apis/responses/shell-tools.test.ts',
      'is not offered where it is to run in a container of OpenAI’s',
    ],
    'tool_search.execution': [DEFERRED, 'is found by the client’s own search'],
    'web_search.external_web_access': [
      'forbidden/hosted-terms.test.ts',
      'leaves out a search of the live web, with a note',
    ],
    'web_search.filters': [SEARCHES, 'passes the request’s terms to the engine'],
    'web_search.search_context_size': [SEARCHES, 'passes the request’s terms to the engine'],
    'web_search.user_location': [SEARCHES, 'passes the request’s terms to the engine'],
    'web_search_preview.search_context_size': [SEARCHES, 'passes the request’s terms to the engine'],
    'web_search_preview.user_location': [SEARCHES, 'passes the request’s terms to the engine'],
  },
  Items: {
    additional_tools: ['apis/responses/client-tools.test.ts', 'holds the tools that come as an item of the input'],
    compaction: [COMPACTION, 'makes a conversation to go on with'],
    compaction_trigger: [COMPACTION, 'compacts at once, in one call of the model'],
    configuration_update: ['http/configuration.test.ts', 'holds for later turns'],
    item_reference: ['http/conversations.test.ts', 'what it only refers to is not added again'],
    mcp_approval_request: ['engine/tools/approvals.slow.test.ts', 'runs the call and goes on with the model'],
    mcp_approval_response: ['engine/tools/approvals.slow.test.ts', 'runs the call and goes on with the model'],
  },
  'Values of include': {
    'code_interpreter_call.outputs': [
      'tools/code-interpreter/runs.slow.test.ts',
      'is shown no outputs unless it includes them',
    ],
    'file_search_call.results': [FILE_SEARCHES, 'shows results to clients that include them, and to no others'],
    'message.input_image.image_url': ['http/compatibility-items.slow.test.ts', 'is listed with its image'],
    'message.output_text.logprobs': ['http/requests.test.ts', 'asks for log probabilities where the client does'],
    'reasoning.encrypted_content': [
      'http/sealed-thoughts.test.ts',
      'seals the thought that a client asks for, streamed or not',
    ],
    'web_search_call.action.sources': [SEARCHES, 'shows results and sources only to clients that include them'],
    'web_search_call.results': [SEARCHES, 'shows results and sources only to clients that include them'],
  },
  [SOCKET_TABLE]: {
    'response.create': [SOCKET, 'are answered in their order'],
    'response.create.generate': ['hosts/websocket/frames.slow.test.ts', 'with generate: false asks no model'],
    'response.create.stream_id': [SOCKET, 'run at the same time in lanes of their own'],
    'response.inject': [INJECTION, 'lets the agent that waits go on, and the next response has the output'],
    'response.inject.created': [INJECTION, 'commits all of its outputs or none'],
    'response.inject.failed': [INJECTION, 'is told that a response has ended, and of one that is not there'],
    'response.steer': [STEERING, 'ends the response after its tools, and the next one goes on with the input'],
    'response.steer.accepted': [STEERING, 'lets a response without tools end as it would'],
    'response.steer.failed': [STEERING, 'comes back where the response fails'],
    'response.steer.pending': [STEERING, 'waits for the results of the client’s calls'],
  },
};

/** No test is needed for it: the client's items are kept as they are. */
const UNCITED: ReadonlySet<string> = new Set(['computer_call_output.output.image_url']);

describe.each(Object.entries(CITATIONS))('docs/compatibility.md, under %s', (heading, citations) => {
  it('[Q-09] claims nothing of its own work that no test is cited for', () => {
    const isCited = (claim: string) => CITED.has(claim) || (claim === 'produced' && heading === SOCKET_TABLE);
    const claimed = compatibilityRows(heading).filter(({ claims }) => claims.flat().some(isCited));
    const names = claimed.map(({ name }) => name).filter((name) => !UNCITED.has(name));
    expect(Object.keys(citations).toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(citations))('[Q-09] %s is shown by a test that is there', (_, [file, name]) => {
    expect(readFileSync(join(root, 'test', file), 'utf8')).toContain(name);
  });
});

describe('docs/compatibility.md, under What a request forbids', () => {
  const page = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
  const section = page.split('\n## What a request forbids\n')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (`|any)/.test(line));

  it.each(rows.map((row) => [row.split(' | ')[0]?.slice(2), row] as const))(
    '[O-03] %s is shown by tests that are there',
    (_, row) => {
      const names = [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names)
        expect(readFileSync(join(root, `test/forbidden/${name}.test.ts`), 'utf8')).toMatch(/'\[O-0[1-6]\]/);
    },
  );
});
