/** What the bodies of real clients become upstream, frozen: a red pin is a question, not an insult. */

import { memoryStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { clientRequests, continuedBy, postedBody, summaryOf } from '../support/client-bodies.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import { describeShared } from '../support/shared.ts';

const store = memoryStore();
let app: RequestApp;
requestAppPerTest(
  (started) => {
    app = started;
  },
  () => ({ store }),
);

/** The chat request that the recorded body becomes, in short. */
async function pinOf(name: string): Promise<JsonObject> {
  const request = clientRequests().find((recorded) => recorded.name === name);
  if (!request) throw new Error(`There is no recording ${name}.`);
  const body = postedBody(request);
  const previous = continuedBy(body);
  if (previous) store.put(previous);
  // Only what is asked is of interest here, and that is the same for a stream.
  await app.streamed(body);
  return summaryOf(app.requested());
}

/** After a tool's name: `!` is strict, `?` is not, nothing says nothing. */
const PINS: Readonly<Record<string, JsonObject>> = {
  'promptfoo.text.responses.json': {
    model: 'fake-model',
    max_tokens: 1024,
    temperature: 0,
    messages: ['user | Say hi'],
  },
  'langchain-struct.json.responses.json': {
    model: 'fake-model',
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'w',
        schema: {
          $schema: '(44 characters)',
          type: 'object',
          properties: { city: { type: 'string', title: 'w' }, temp: { type: 'number', title: 'w' } },
          required: ['city', 'temp'],
          additionalProperties: false,
          title: 'w',
        },
        strict: true,
      },
    },
    messages: ['user | hi'],
  },
  'vercel-v7-img.text.responses.json': {
    model: 'fake-model',
    messages: [
      'user | text: "x", image_url: {"url":"(34 characters)"}, file: {"filename":"a.pdf","file_data":"(40 characters)"}',
    ],
  },
  'vercel-v7-storefalse.reasontool.responses.turn2.json': {
    model: 'gpt-5',
    tool_choice: 'auto',
    parallel_tool_calls: false,
    verbosity: 'low',
    reasoning_effort: 'low',
    metadata: { a: 'b' },
    service_tier: 'auto',
    prompt_cache_key: 'pk',
    user: 'u',
    tools: ['get_weather?'],
    messages: [
      'user | hi',
      'assistant | null | thought Thinking about it. | call_0000b21a1f9797144 get_weather{"city":"Paris"}',
      'tool call_0000b21a1f9797144 | sunny',
    ],
  },
  'mt-agents.mcptool.responses.stream.turn2.json': {
    model: 'm',
    tools: ['get_weather!'],
    messages: [
      'user | hi',
      'assistant | null | mcp_00000b1a1f97fb4bd echo{"message":"hi"} | call_00000e1a1f97fb4bd get_weather{"city":"Paris"}',
      'tool mcp_00000b1a1f97fb4bd | (no output was recorded)',
      'tool call_00000e1a1f97fb4bd | sunny',
    ],
  },
  'opencode.tool2.responses.stream.turn2.json': {
    model: 'fake-model',
    tool_choice: 'auto',
    max_tokens: 4000,
    prompt_cache_key: 'ses_e068c9592ffepIASr3N0Wq51OO',
    tools: ['bash?', 'edit?', 'glob?', 'grep?', 'read?', 'skill?', 'task?', 'todowrite?', 'webfetch?', 'write?'],
    messages: [
      'system | (9553 characters)',
      'user | "say hi"',
      'assistant | Let me check. | call_0009d91a1f9737884a bash(55 characters) | call_0009db1a1f9737884b bash(55 characters)',
      'tool call_0009d91a1f9737884a | HELLO_FROM_TOOL\n',
      'tool call_0009db1a1f9737884b | HELLO_FROM_TOOL\n',
    ],
  },
  'cline.tool.responses.stream.turn2.json': {
    model: 'gpt-5.4',
    tool_choice: 'auto',
    tools: [
      'read_files',
      'search_codebase',
      'run_commands',
      'fetch_web_content',
      'apply_patch',
      'ask_question',
      'spawn_agent',
      'team_spawn_teammate',
      'team_shutdown_teammate',
      'team_status',
      'team_task',
      'team_run_task',
      'team_cancel_run',
      'team_list_runs',
      'team_await_runs',
      'team_send_message',
      'team_broadcast',
      'team_read_mailbox',
      'team_mission_log',
      'team_cleanup',
      'team_create_outcome',
      'team_attach_outcome_fragment',
      'team_review_outcome_fragment',
      'team_finalize_outcome',
      'team_list_outcomes',
    ],
    messages: [
      'system | (4254 characters)',
      'user | say hi',
      'assistant | null | call_0000031a1f97735d9 read_files{}',
      'tool call_0000031a1f97735d9 | {"error":"✖ Invalid input"}',
    ],
  },
  'codex-gpt-5.5.text.responses.stream.json': {
    model: 'gpt-5.5',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    verbosity: 'low',
    reasoning_effort: 'medium',
    prompt_cache_key: '(36 characters)',
    tools: [
      'exec_command?',
      'write_stdin?',
      'request_user_input?',
      'apply_patch',
      'view_image?',
      'get_goal?',
      'create_goal?',
      'update_goal?',
      'tool_search',
    ],
    messages: ['system | (21299 characters)', 'system | (5120 characters)', 'user | (341 characters)', 'user | say hi'],
  },
  'codex-img.text.responses.stream.json': {
    model: 'fake-model',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    prompt_cache_key: '(36 characters)',
    tools: [
      'exec_command?',
      'write_stdin?',
      'request_user_input?',
      'view_image?',
      'multi_agent_v1__close_agent?',
      'multi_agent_v1__resume_agent?',
      'multi_agent_v1__send_input?',
      'multi_agent_v1__spawn_agent?',
      'multi_agent_v1__wait_agent?',
      'get_goal?',
      'create_goal?',
      'update_goal?',
    ],
    messages: [
      'system | (16979 characters)',
      'system | (2461 characters)',
      'user | (341 characters)',
      'user | text: "(41 characters)", image_url: {"url":"(130 characters)","detail":"high"}, text: "</image>", text: "what color"',
    ],
  },
  'codex-resume.reasontool.responses.stream.turn2.json': {
    model: 'fake-model',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    prompt_cache_key: '(36 characters)',
    tools: [
      'exec_command?',
      'write_stdin?',
      'request_user_input?',
      'view_image?',
      'multi_agent_v1__close_agent?',
      'multi_agent_v1__resume_agent?',
      'multi_agent_v1__send_input?',
      'multi_agent_v1__spawn_agent?',
      'multi_agent_v1__wait_agent?',
      'get_goal?',
      'create_goal?',
      'update_goal?',
    ],
    messages: [
      'system | (16979 characters)',
      'system | (2461 characters)',
      'user | (341 characters)',
      'user | first question',
      'assistant | null | thought Thinking about it. | call_0004c71a1f967d24e exec_command{"cmd":"echo HELLO_FROM_TOOL"}',
      'tool call_0004c71a1f967d24e | (118 characters)',
    ],
  },
  'codex-ns.tool-echo-mcp__everything.responses.stream.turn2.json': {
    model: 'fake-model',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    prompt_cache_key: '(36 characters)',
    tools: [
      'exec_command?',
      'write_stdin?',
      'list_mcp_resources?',
      'list_mcp_resource_templates?',
      'read_mcp_resource?',
      'request_user_input?',
      'view_image?',
      'multi_agent_v1__close_agent?',
      'multi_agent_v1__resume_agent?',
      'multi_agent_v1__send_input?',
      'multi_agent_v1__spawn_agent?',
      'multi_agent_v1__wait_agent?',
      'mcp__everything__echo?',
      'mcp__everything__get_annotated_message?',
      'mcp__everything__get_env?',
      'mcp__everything__get_resource_links?',
      'mcp__everything__get_resource_reference?',
      'mcp__everything__get_structured_content?',
      'mcp__everything__get_sum?',
      'mcp__everything__get_tiny_image?',
      'mcp__everything__gzip_file_as_resource?',
      'mcp__everything__simulate_research_query?',
      'mcp__everything__toggle_simulated_logging?',
      'mcp__everything__toggle_subscriber_updates?',
      'mcp__everything__trigger_elicitation_request?',
      'mcp__everything__trigger_long_running_operation?',
      'mcp__everything__trigger_url_elicitation?',
      'get_goal?',
      'create_goal?',
      'update_goal?',
    ],
    messages: [
      'system | (16979 characters)',
      'system | (2461 characters)',
      'user | (341 characters)',
      'user | say hi',
      'assistant | null | call_0000031a1f96703eb mcp__everything__echo{"message":"HELLO_FROM_TOOL"}',
      'tool call_0000031a1f96703eb | (55 characters)',
    ],
  },
  'codex-ws.tool.responses.stream.turn2.json': {
    model: 'fake-model',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    prompt_cache_key: '(36 characters)',
    tools: [
      'exec_command?',
      'write_stdin?',
      'request_user_input?',
      'view_image?',
      'multi_agent_v1__close_agent?',
      'multi_agent_v1__resume_agent?',
      'multi_agent_v1__send_input?',
      'multi_agent_v1__spawn_agent?',
      'multi_agent_v1__wait_agent?',
      'get_goal?',
      'create_goal?',
      'update_goal?',
    ],
    messages: ['assistant | null | call_0009c01a1f966876e seeded{}', 'tool call_0009c01a1f966876e | (118 characters)'],
  },
};

describeShared('the chat request of a real client', () => {
  for (const [name, pin] of Object.entries(PINS)) {
    it(`[S-03] [S-04] [S-05] [S-08] [A-25] [P-06] [Q-02] is pinned: ${name}`, async () => {
      expect(await pinOf(name)).toEqual({ stream: true, stream_options: { include_usage: true }, ...pin });
    });
  }
});
