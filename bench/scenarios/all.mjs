/** Every scenario by its name, in the order of a run. */
import { arguments16k, burst, json, logprobs, paced, padded, short } from './answers.mjs';
import { agentBody } from './bodies.mjs';
import { history } from './history.mjs';
import { idle } from './idle.mjs';
import { latency } from './latency.mjs';
import { long } from './long.mjs';
import { options, routing, routingPaced } from './routing.mjs';
import { stalled } from './stalled.mjs';
import { startUp } from './start-up.mjs';
import { chatTools, mcp } from './tools.mjs';
import { twoProcesses } from './two-processes.mjs';
import { aiSdk, busy, openEarly, passThroughRows, responsesUpstream } from './upstreams.mjs';

export const SCENARIOS = {
  burst,
  padded,
  logprobs,
  short,
  json,
  paced,
  arguments: arguments16k,
  'chat-tools': chatTools,
  mcp,
  'responses-upstream': responsesUpstream,
  'ai-sdk': aiSdk,
  'pass-through': passThroughRows,
  'agent-body': agentBody,
  'open-early': openEarly,
  busy,
  latency,
  idle,
  stalled,
  history,
  'start-up': startUp,
  'two-processes': twoProcesses,
  long,
  routing,
  'routing-paced': routingPaced,
  options,
};
