/** The guards of one request: those of its router, and of the middlewares in front of it. */
import type { Guard, GuardDirection } from '../../../ports/guard.ts';
import { notify, type Reports } from '../../../ports/hooks.ts';
import { GuardBlocked, type GuardContext, type GuardedPlace } from '../guard/guard-context.ts';
import { Placeholders } from '../guard/placeholders.ts';
import type { GuardSettings } from '../guard/settings.ts';
import { guardText } from '../reading/guarded-text.ts';
import { createStage, type TextStage } from '../tracks/stage.ts';
import { TextTrack } from '../tracks/text-track.ts';

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
    scope,
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
  /** Whether any guard inspects what the request brings. */
  readonly guardsInput: boolean;
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
    this.guardsInput = sessions.some(({ settings, isInputDone }) => !isInputDone && settings.input.length > 0);
    this.restores = all.some(({ restoring }) => restoring.length > 0);
    this.guardsOutput = this.restores || all.some(({ output }) => output.length > 0);
    this.guardsTools = all.some(({ tools }) => tools.length > 0);
    this.onlyObserves = !this.restores && all.every(({ output }) => output.every(({ mode }) => mode === 'monitor'));
  }

  /** A text of the answer that is still being written. */
  textTrack(place: string): TextTrack {
    return new TextTrack(this.outputStages(place));
  }

  /** A whole text of the answer. */
  async output(text: string, place: string): Promise<string> {
    const track = this.textTrack(place);
    return (await track.write(text)) + (await track.end());
  }

  /** A text of the request. */
  input(text: string, place: string): Promise<string> {
    return this.guarded(text, { direction: 'input', place }, ({ settings, isInputDone }) =>
      isInputDone ? [] : settings.input,
    );
  }

  /** A text that a router adds to the request, such as that of a file: no middleware in front has seen it. */
  added(text: string, place: string): Promise<string> {
    return this.guarded(text, { direction: 'input', place }, ({ settings }) => settings.input);
  }

  /** The same where the router's own guards read the whole request later. */
  unseen(text: string, place: string): Promise<string> {
    return this.guarded(text, { direction: 'input', place }, ({ settings, isInputDone }) =>
      isInputDone ? settings.input : [],
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

  /**
   * A text as the guards of `input` leave it, unreported: by it what they have changed in a request is known again. Undefined
   * for one that they block.
   */
  async changed(text: string): Promise<string | undefined> {
    let shown = text;
    try {
      for (const { settings, context } of this.sessions.toReversed())
        for (const guard of settings.input)
          shown = await guardText(guard, shown, { direction: 'input', place: '' }, unreported(context));
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      return undefined;
    }
    return shown;
  }

  /** A text of the request without the placeholders that a middleware in front has put there. */
  async restored(text: string): Promise<string> {
    let shown = text;
    for (const { context } of this.sessions)
      shown = await guardText(restoringGuard(context), shown, { direction: 'input', place: '' }, unreported(context));
    return shown;
  }

  /** Whether a middleware in front has put placeholders into the request. */
  get hasPlaceholders(): boolean {
    return this.sessions.some(({ context }) => !context.placeholders.isEmpty);
  }

  private async guarded(
    text: string,
    at: GuardedPlace,
    selectGuards: (session: GuardSession) => readonly Guard[],
    outerFirst = true,
  ): Promise<string> {
    let shown = text;
    for (const session of outerFirst ? this.sessions.toReversed() : this.sessions)
      for (const guard of selectGuards(session)) shown = await guardText(guard, shown, at, session.context);
    return shown;
  }

  private outputStages(place: string): readonly TextStage[] {
    const at = { direction: 'output', place } as const;
    return this.sessions.flatMap(({ settings, context }) => {
      const stages = settings.output.map((guard) => createStage(guard, at, context));
      if (settings.restoring.length === 0) return stages;
      return [...stages, createStage(restoringGuard(context), at, unreported(context))];
    });
  }
}

/** Restores the values. */
function restoringGuard({ placeholders }: GuardContext): Guard {
  return {
    name: RESTORE,
    inspect: ({ text }) => ({ action: 'replace', findings: placeholders.scan(text, 0, true).findings }),
    scan: (text, from, isEnd) => placeholders.scan(text, from, isEnd),
  };
}

/** The values are the client's own, so this is not reported. */
function unreported(context: GuardContext): GuardContext {
  return { ...context, report: () => {} };
}
