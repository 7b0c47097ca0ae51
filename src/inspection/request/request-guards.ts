/** The guards of one request: those of its router, and of the middlewares in front of it. */
import type { Guard, GuardDirection } from '../../ports/guard.ts';
import { notify, type Reports } from '../../ports/hooks.ts';
import { edited } from '../guard/edits.ts';
import type { GuardContext, GuardedPlace } from '../guard/guard-context.ts';
import { Placeholders } from '../guard/placeholders.ts';
import { editsOf } from '../guard/run-guard.ts';
import type { GuardSettings } from '../guard/settings.ts';
import { type Spell, stageOf, type TextStage } from '../tracks/stage.ts';
import { JsonTrack, TextTrack } from '../tracks/text-track.ts';

/** The guards of one router or middleware for one request, and what they keep of it. */
export interface GuardSession {
  readonly settings: GuardSettings;
  readonly context: GuardContext;
  /** Whether its guards have seen the request already: it is the middleware's own. */
  readonly isInputDone: boolean;
}

/** What identifies the request. */
interface GuardedRequest {
  readonly scope: string;
  readonly requestId: string;
  readonly request?: unknown;
  readonly signal: AbortSignal;
}

/** The session of a request. */
export function guardSession(
  settings: GuardSettings,
  { scope, requestId, request, signal }: GuardedRequest,
  hooks: Reports,
  isInputDone: boolean,
): GuardSession {
  const context: GuardContext = {
    tenant: scope,
    requestId,
    request,
    signal,
    placeholders: new Placeholders(),
    report: (info) => notify(hooks, 'onGuard', info),
    onFault: (guard, error) => hooks.recorder?.onFault(`The guard '${guard}'`, error),
  };
  return { settings, context, isInputDone };
}

const RESTORE = 'restore';

/** All of them: each list of the router's before that of the middlewares in front of it. */
export class RequestGuards {
  private readonly sessions: readonly GuardSession[];
  /** Whether any guard inspects the model's answer, or values are restored in it. */
  readonly guardsOutput: boolean;
  readonly guardsTools: boolean;
  /** Whether values of the request become placeholders for the model. */
  readonly restores: boolean;
  /** Whether the answer's own places and log probabilities stay as they are. */
  readonly onlyObserves: boolean;

  constructor(sessions: readonly GuardSession[]) {
    this.sessions = sessions;
    const all = sessions.map(({ settings }) => settings);
    this.restores = all.some(({ restoring }) => restoring.length > 0);
    this.guardsOutput = this.restores || all.some(({ output }) => output.length > 0);
    this.guardsTools = all.some(({ tools }) => tools.length > 0);
    this.onlyObserves = !this.restores && all.every(({ output }) => output.every(({ mode }) => mode === 'monitor'));
  }

  /** A text of the answer that is still being written. */
  textTrack(place: string): TextTrack {
    return new TextTrack(this.outputStages(place, asIs, sees));
  }

  /** JSON of the answer, such as arguments. */
  jsonTrack(place: string): JsonTrack {
    return new JsonTrack((isString) => {
      const stages = isString
        ? this.outputStages(place, asIs, sees)
        : this.outputStages(place, JSON.stringify, seesText);
      return new TextTrack(stages);
    });
  }

  /** A whole text of the answer. */
  async output(text: string, place: string): Promise<string> {
    const track = this.textTrack(place);
    return (await track.write(text)) + (await track.end());
  }

  /** A whole text of the answer that is JSON. */
  async outputJson(text: string, place: string): Promise<string> {
    const track = this.jsonTrack(place);
    return (await track.write(text)) + (await track.end());
  }

  /** A text of the request. */
  input(text: string, place: string): Promise<string> {
    return this.guarded(text, { direction: 'input', place }, ({ settings, isInputDone }) =>
      isInputDone ? [] : settings.input,
    );
  }

  /** A text on its way to the model: with placeholders. */
  forModel(text: string, place: string): Promise<string> {
    return this.guarded(text, { direction: 'input', place }, ({ settings }) => settings.restoring, true);
  }

  /** A text of the arguments or of the result of a tool that the server runs. */
  tool(text: string, direction: GuardDirection, place: string): Promise<string> {
    return this.guarded(text, { direction, place }, ({ settings }) => settings.tools);
  }

  /** A text of the request without the placeholders that a middleware in front has put there. */
  restored(text: string): string {
    return this.sessions.reduce((shown, { context }) => context.placeholders.restored(shown), text);
  }

  /** Whether a middleware in front has put placeholders into the request. */
  get hasPlaceholders(): boolean {
    return this.sessions.some(({ context }) => !context.placeholders.isEmpty);
  }

  private async guarded(
    text: string,
    at: GuardedPlace,
    guardsOf: (session: GuardSession) => readonly Guard[],
    outerFirst = true,
  ): Promise<string> {
    let shown = text;
    for (const session of outerFirst ? this.sessions.toReversed() : this.sessions)
      for (const guard of guardsOf(session)) shown = edited(shown, await editsOf(guard, shown, at, session.context));
    return shown;
  }

  private outputStages(place: string, spell: Spell, seen: (guard: Guard) => Guard): readonly TextStage[] {
    const at = { direction: 'output', place } as const;
    return this.sessions.flatMap(({ settings, context }) => {
      const stages = settings.output.map((guard) => stageOf(seen(guard), at, context, spell));
      return settings.restoring.length === 0 ? stages : [...stages, restoringStage(at, context, spell)];
    });
  }
}

/** Restores the values. They are the client's own, so this is not reported. */
function restoringStage(at: GuardedPlace, context: GuardContext, spell: Spell): TextStage {
  const { placeholders } = context;
  const guard: Guard = {
    name: RESTORE,
    inspect: () => ({ action: 'pass' }),
    scan: (text, from, isEnd) => placeholders.scan(text, from, isEnd),
  };
  return stageOf(guard, at, { ...context, report: () => {} }, spell);
}

function asIs(text: string): string {
  return text;
}

function sees(guard: Guard): Guard {
  return guard;
}

/** The same guard, which skips punctuation and numbers between the strings of JSON unless it scans. */
function seesText(guard: Guard): Guard {
  if (guard.scan) return guard;
  const { name, mode, timeoutMs, onFailure, lookahead } = guard;
  const inspect: Guard['inspect'] = (subject) =>
    isStructure(subject.text) ? { action: 'pass' } : guard.inspect(subject);
  return { name, mode, timeoutMs, onFailure, lookahead, inspect };
}

/** Including the letters of `true`, `false` and `null`. */
const STRUCTURE: ReadonlySet<string> = new Set(' \t\r\n{}[]:,.+-0123456789eEtrufalsn');

function isStructure(text: string): boolean {
  for (const character of text) if (!STRUCTURE.has(character)) return false;
  return true;
}
