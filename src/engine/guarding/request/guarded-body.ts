/** The body of a request with its new texts guarded. */
import type { MaybePromise } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ModelRequest } from '../../../protocol/model-request.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import { BODY, PIECE } from '../texts/positions.ts';
import { type MapText, mapTexts } from '../texts/walk.ts';
import type { RequestGuards } from './request-guards.ts';

/**
 * The body after the guards of `input`. The loaded part of earlier turns, `known`, was guarded when it arrived. Throws
 * `content_filter` naming the place.
 */
export async function guardBody<Body>(body: Body, guards: RequestGuards, known?: ReadonlySet<unknown>): Promise<Body> {
  if (!guards.guardsInput) return body;
  const map = refuseBlocked((text, path) => guards.input(text, path));
  // The cast: texts are replaced by texts.
  return (await mapTexts(body, '', BODY, { map, known, onTokens: refuseTokens })) as Body;
}

/** The numbers of tokens spell a text that no guard can read. */
function refuseTokens(param: string): never {
  throw new ApiError('content_filter', `This server's policy lets no tokens pass in '${param}': send their text.`, {
    param,
  });
}

/** A text that a router adds to the prompt, after the guards of `input`; `param` is what names it. Throws `content_filter`. */
export function guardAdded(text: string, param: string, guards: RequestGuards): Promise<string> {
  return refuseBlocked((each, path) => guards.added(each, path))(text, param);
}

/** The messages in which files became text, after the guards of middlewares that have not seen it. Throws `content_filter`. */
export async function guardAddedMessages<Message>(
  sent: readonly Message[],
  whole: readonly Message[],
  guards: RequestGuards,
): Promise<readonly Message[]> {
  const map = refuseBlocked((text, path) => guards.unseen(text, path));
  const guarded: Message[] = [];
  // The cast: texts are replaced by texts.
  for (const [at, message] of whole.entries())
    guarded.push(
      message === sent[at] ? message : ((await mapTexts(message, `messages[${at}]`, PIECE, { map })) as Message),
    );
  return guarded;
}

/** The replacements of items, such as the text of files that they name, after the guards of `input`. */
export async function guardItems(
  placed: ReadonlyMap<Item, Item>,
  guards: RequestGuards,
): Promise<ReadonlyMap<Item, Item>> {
  const map = refuseBlocked((text, path) => guards.added(text, path));
  const guarded = new Map<Item, Item>();
  // The cast: texts are replaced by texts.
  for (const [item, whole] of placed) guarded.set(item, (await mapTexts(whole, 'input', PIECE, { map })) as Item);
  return guarded;
}

/** The body without the placeholders of a middleware in front. */
export async function restoreBody<Body>(body: Body, guards: RequestGuards): Promise<Body> {
  if (!guards.hasPlaceholders) return body;
  // The cast: texts are replaced by texts.
  return (await mapTexts(body, '', BODY, { map: (text) => guards.restored(text) })) as Body;
}

/** The body as the model may receive it: with placeholders. Throws `content_filter`. */
export async function bodyForModel<Body>(body: Body, guards: RequestGuards): Promise<Body> {
  const map = refuseBlocked((text, path) => guards.forModel(text, path));
  // The cast: texts are replaced by texts.
  return (await mapTexts(body, '', BODY, { map, inTurn: true, onTokens: refuseTokens })) as Body;
}

/** The requests of one turn as the model may receive them: with placeholders. */
export class ModelRequests {
  private readonly map: MapText;
  /** The items of an earlier request are in the next one too. */
  private readonly items = new WeakMap<Item, Item>();

  constructor(guards: RequestGuards) {
    this.map = refuseBlocked((text, path) => guards.forModel(text, path));
  }

  /** Throws `content_filter`. */
  async guarded(request: ModelRequest): Promise<ModelRequest> {
    const items: Item[] = [];
    for (const [at, item] of request.items.entries()) items.push(await this.item(item, `input[${at}]`));
    const { instructions, stopSequences } = request;
    return {
      ...request,
      items,
      ...(instructions === undefined ? {} : { instructions: await this.map(instructions, 'instructions') }),
      // The cast: texts are replaced by texts.
      ...(stopSequences && {
        stopSequences: (await mapTexts(stopSequences, 'stop_sequences', PIECE, { map: this.map })) as readonly string[],
      }),
    };
  }

  private async item(item: Item, path: string): Promise<Item> {
    const known = this.items.get(item);
    if (known) return known;
    // The cast: texts are replaced by texts.
    const guarded = (await mapTexts(item, path, PIECE, { map: this.map, inTurn: true })) as Item;
    this.items.set(item, guarded);
    return guarded;
  }
}

/** A request that is only counted, as the model may receive it. Throws `content_filter`. */
export function countedRequest(request: ModelRequest, guards: RequestGuards | undefined): MaybePromise<ModelRequest> {
  if (!guards?.restores) return request;
  return new ModelRequests(guards).guarded(request);
}

/** Adds the place of the blocked text to the error. */
function refuseBlocked(map: MapText): MapText {
  return async (text, path) => {
    try {
      return await map(text, path);
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      const why = error.reason === '' ? '' : ` ${error.reason}`;
      const message = `This server's policy does not let the text in '${path}' pass.${why}`;
      throw new ApiError('content_filter', message, { param: path });
    }
  };
}
