/** How responses are shown: the dialect of each request, and what the options and the dialect say of it. */

import { inspect } from 'node:util';
import { DIALECTS, openai } from '../../apis/dialects/dialects.ts';
import type { Dialect, Presentation } from '../../ports/dialect.ts';
import { fromHost } from '../../ports/host/host-error.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import { heartbeatSettings } from './heartbeat-options.ts';
import type { AnyCoreOptions } from './options.ts';
import { checkedShow } from './show-options.ts';

/** The dialect of a request, and how responses are shown in it. */
export interface PresentationSettings extends Presentation {
  readonly dialectOf: (request: unknown) => Dialect;
  readonly presentationFor: (dialect: Dialect) => Presentation;
  /** Whether clients of the Messages API see the calls of server-run tools. */
  readonly toolItems: 'hidden' | 'shown';
}

const NO_HEARTBEAT: WantedHeartbeat = { intervalMs: undefined, style: 'comment' };

/** An option of the host goes before the dialect's own form. Throws a `TypeError` for a bad option. */
export function presentationSettings(owner: string, options: AnyCoreOptions): PresentationSettings {
  const { heartbeat, dialect = 'openai' } = options;
  const show = checkedShow(`${owner}: show`, options.show);
  const toolItems = show.toolCallsInMessages ? 'shown' : 'hidden';
  const chosenHeartbeat =
    heartbeat === false ? NO_HEARTBEAT : heartbeat && heartbeatSettings(`${owner}: heartbeat`, heartbeat);
  const defaultHeartbeat = heartbeatSettings(owner, {});
  const presentationFor = ({ presentation: preferred = {} }: Dialect): Presentation => ({
    mcpItems: show.toolCalls ?? preferred.mcpItems ?? 'mcp_call',
    reasoning: show.reasoning ?? preferred.reasoning ?? 'summary',
    heartbeat: chosenHeartbeat ?? preferred.heartbeat ?? defaultHeartbeat,
    queuedEvent: show.queued ?? preferred.queuedEvent ?? false,
    listsTools: preferred.listsTools ?? true,
  });
  if (typeof dialect === 'string') {
    const always = DIALECTS[dialect];
    return { ...presentationFor(always), dialectOf: () => always, presentationFor, toolItems };
  }
  const dialectOf = (request: unknown) => {
    // The cast: the request is the host's own, as its function expects it.
    const name = fromHost(() => dialect(request as never));
    if (Object.hasOwn(DIALECTS, name)) return DIALECTS[name];
    throw new TypeError(`${owner}: dialect: there is no dialect ${inspect(name)}`);
  };
  return { ...presentationFor(openai), dialectOf, presentationFor, toolItems };
}

/** The settings for one request, whose dialect may show responses in its own way. */
export function settingsFor<Settings extends PresentationSettings>(
  settings: Settings,
  { request }: { readonly request?: unknown },
): Settings {
  const { dialectOf, presentationFor } = settings;
  const dialect = dialectOf(request);
  return dialect.presentation ? { ...settings, ...presentationFor(dialect) } : settings;
}
