/** Everything that is fuzzed. */
import type { AnyTarget } from '../target.ts';
import { files } from './files.ts';
import { remoteMcp } from './mcp.ts';
import { middlewares } from './middlewares.ts';
import { modelAnswers } from './model-answers.ts';
import { parsers } from './parsers.ts';
import { reading } from './queries.ts';
import { requests } from './requests.ts';
import { vectorStores } from './search-terms.ts';
import { webSockets } from './websocket.ts';

/** By the weights, a run shares its cases among them. */
export const TARGETS: readonly AnyTarget[] = [
  ...parsers,
  ...modelAnswers,
  ...requests,
  ...reading,
  ...middlewares,
  ...webSockets,
  ...files,
  ...remoteMcp,
  ...vectorStores,
];
