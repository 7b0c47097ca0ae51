/** Warns of options that the host has given to a router whose API has no use for them. */
import type { CoreSettings } from './core-settings.ts';
import type { AnyCoreOptions } from './options.ts';

/** What each function has no use for; a name after a dot is a key of the option before it. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  chatCompletionsRouter: [
    'background',
    'webhooks',
    'multiAgent',
    'show.toolCalls',
    'show.toolCallsInMessages',
    'show.queued',
    'compaction',
    'prompts',
  ],
  messagesRouter: [
    'background',
    'webhooks',
    'multiAgent',
    'show.toolCalls',
    'show.reasoning',
    'show.queued',
    'dialect',
    'prompts',
  ],
  attachResponsesWebSocket: ['background', 'webhooks', 'openapi'],
};

/** One warning for all of them. */
export function warnOfUnused(
  options: AnyCoreOptions,
  { owner, recorder }: Pick<CoreSettings, 'owner' | 'recorder'>,
): void {
  const names = (UNUSED[owner] ?? []).filter((path) => {
    const [name = '', key] = path.split('.');
    const value = Object(options)[name];
    return key === undefined ? value !== undefined : Object(value)[key] !== undefined;
  });
  if (names.length === 0) return;
  const isOne = names.length === 1;
  recorder.warn(
    `${owner}: ${names.join(', ')} ${isOne ? 'has' : 'have'} no effect here. Leave ${isOne ? 'it' : 'them'} out, ` +
      'or serve all APIs with openResponses, each of which takes what it needs.',
  );
}
