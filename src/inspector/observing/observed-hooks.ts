/** The host's hooks, each followed by the inspector's. */
import { guarded, type Hooks, type ReceiveEvents } from '../../ports/hooks.ts';

/** Calls the host's hook, if there is one, and then the inspector's. An error that the host's hook throws still reaches the router. */
export function withHooks(host: Hooks, own: Hooks): Hooks {
  const both: Record<string, unknown> = {};
  for (const name of [
    'onRequest',
    'onResponse',
    'onToolCall',
    'onToolProgress',
    'onApproval',
    'onError',
    'onNote',
  ] as const)
    both[name] = inTurn(host, host[name], own[name]);
  // The cast: each function has the parameters of the hook of its name.
  return { ...(both as Hooks), onTurn: bothReceivers(host, own) };
}

type AnyHook = ((...values: never[]) => unknown) | undefined;

function inTurn(host: Hooks, theirs: AnyHook, ours: AnyHook): AnyHook {
  if (!theirs) return ours;
  if (!ours) return theirs.bind(host);
  return (...values) => {
    guarded('inspector', () => ours(...values));
    return theirs.apply(host, values);
  };
}

function bothReceivers(host: Hooks, own: Hooks): Hooks['onTurn'] {
  if (!host.onTurn) return own.onTurn;
  return (turn) => {
    const ours = own.onTurn?.(turn);
    const theirs = host.onTurn?.(turn);
    if (!ours || !theirs) return ours ?? theirs;
    const receive: ReceiveEvents = (events) => {
      ours(events);
      theirs(events);
    };
    return receive;
  };
}
