/** Deferred tools of a real MCP server, from its list to the call of one that the model has found. */

import { type ChatBody, calls, played, says, shape, toolTexts } from '../../engine/tools/support.ts';
import { closeAll, openTools, startServer } from '../../support/mcp-client.ts';

afterEach(closeAll);

it('[T-01, T-02] finds, offers and calls tools of an MCP server past maxTools', async () => {
  const server = await startServer();
  const tools = openTools({ a: { url: server.url, maxTools: 2, exclude: ['crash'] } });
  const script = [
    calls(['s', 'tool_search', '{"query":"structured","limit":1}']),
    calls(['c', 'structured', '{"degrees":3}'], ['d', 'structured', '{"degrees":"warm"}']),
    says('It is cold.'),
  ];
  const { response, requested } = await played({ tools }, script);
  const offers = requested.map((body) => body.tools?.map(({ function: { name } }) => name));
  expect([shape(response), offers, toolTexts(requested[2] as ChatBody)]).toEqual([
    [
      'tool_search_call completed',
      'tool_search_output completed',
      'mcp_list_tools completed',
      'mcp_call structured completed',
      'mcp_call structured failed',
      'message completed',
    ],
    [
      ['tool_search', 'echo', 'slow'],
      ['tool_search', 'echo', 'slow', 'structured'],
      ['tool_search', 'echo', 'slow', 'structured'],
    ],
    {
      s: '{"found":["structured"]}',
      c: '{"degrees":3}',
      d: expect.stringMatching(/^The result does not match the tool's output schema: .*\n\{"degrees":"warm"\}$/),
    },
  ]);
});
