/** All dialects: a new one is one file, one line here and one folder of golden frames. */
import type { Dialect, DialectName } from '../../ports/dialect.ts';
import { openResponsesServer } from './open-responses-server.ts';
import { tokligence } from './tokligence.ts';
import { vllmResponses } from './vllm-responses.ts';

/** OpenAI's own: nothing is rewritten. */
export const openai: Dialect = { name: 'openai' };

/** The dialects by their names. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  openai,
  'open-responses-server': openResponsesServer,
  'vllm-responses': vllmResponses,
  tokligence,
};
