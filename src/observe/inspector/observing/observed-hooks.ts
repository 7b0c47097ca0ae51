/** The host's hooks, each followed by the inspector's. */
import { callHookSafely, type Hooks, type ReceiveEvents } from '../../../ports/hooks.ts';

/** Calls the host's hook, if there is one, and then the inspector's. An error that the host's hook throws still reaches the router. */
export function withHooks(host: Hooks, own: Hooks): Hooks {
  const both: Record<string, unknown> = {};
  // The casts: these are the names, and each function has the parameters of the hook of its name.
  for (const name of Object.keys(HOOK_NAMES) as NotifyingHook[]) both[name] = combineHooks(host, host[name], own[name]);
  return { ...(both as Hooks), onTurn: combineReceivers(host, own) };
}

/** The hooks that return nothing. */
type NotifyingHook = Exclude<keyof Hooks, 'onTurn'>;

/** An object, so that a hook that is forgotten here does not compile. */
const HOOK_NAMES: Readonly<Record<NotifyingHook, undefined>> = {
  onRequest: undefined,
  onResponse: undefined,
  onAttempt: undefined,
  onToolCall: undefined,
  onToolProgress: undefined,
  onApproval: undefined,
  onGuard: undefined,
  onError: undefined,
  onNote: undefined,
};

type AnyHook = ((...values: never[]) => unknown) | undefined;

function combineHooks(host: Hooks, hostHook: AnyHook, ownHook: AnyHook): AnyHook {
  if (!hostHook) return ownHook;
  if (!ownHook) return hostHook.bind(host);
  return (...values) => {
    callHookSafely('inspector', () => ownHook(...values));
    return hostHook.apply(host, values);
  };
}

function combineReceivers(host: Hooks, own: Hooks): Hooks['onTurn'] {
  if (!host.onTurn) return own.onTurn;
  return (turn) => {
    const ownHook = own.onTurn?.(turn);
    const hostHook = host.onTurn?.(turn);
    if (!ownHook || !hostHook) return ownHook ?? hostHook;
    const receive: ReceiveEvents = (events) => {
      ownHook(events);
      hostHook(events);
    };
    return receive;
  };
}
