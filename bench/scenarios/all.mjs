/** Every scenario by its name, in the order of a run. */
import { arguments16k, burst, json, logprobs, paced, padded, short } from './answers.mjs';
import { history } from './history.mjs';
import { idle } from './idle.mjs';
import { latency } from './latency.mjs';
import { long } from './long.mjs';
import { stalled } from './stalled.mjs';
import { chatTools, mcp } from './tools.mjs';

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
  latency,
  idle,
  stalled,
  history,
  long,
};
