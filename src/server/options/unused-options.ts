/** Warns of options that the host has given to a router whose API has no use for them. */
import { hostLog } from '../../ports/host/logger.ts';
import { processWarning } from '../../ports/host/warner.ts';
import type { AnyCoreOptions } from './options.ts';

/** What each function has no use for; a name after a dot is a key of the option before it. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  chatCompletionsRouter: [
    'background',
    'webhooks',
    'show.toolCalls',
    'show.toolCallsInMessages',
    'show.queued',
    'compaction',
    'prompts',
  ],
  messagesRouter: ['background', 'webhooks', 'show.toolCalls', 'show.reasoning', 'show.queued', 'dialect', 'prompts'],
  attachResponsesWebSocket: ['background', 'webhooks'],
};

/** One warning for all of them, in the host's log or as a process warning; none with `logger: false`. */
export function warnOfUnused(owner: string, options: AnyCoreOptions): void {
  const { logger } = options;
  const names = (UNUSED[owner] ?? []).filter((path) => {
    const [name = '', key] = path.split('.');
    const value = Object(options)[name];
    return key === undefined ? value !== undefined : Object(value)[key] !== undefined;
  });
  if (names.length === 0 || logger === false) return;
  const isOne = names.length === 1;
  const message =
    `${owner}: ${names.join(', ')} ${isOne ? 'has' : 'have'} no effect here. Leave ${isOne ? 'it' : 'them'} out, ` +
    'or serve all APIs with openResponses, each of which takes what it needs.';
  if (logger) hostLog(logger).write('warn', message, {});
  else processWarning(message);
}
