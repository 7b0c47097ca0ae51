/** Sends a request once more without the fields that its server refuses, and remembers them. */
import type { UpstreamCall } from '../../../ports/upstream.ts';
import { isRecord, type JsonObject, valueAt } from '../../../protocol/record.ts';
import type { SecondRequest } from '../exchange.ts';
import type { Refusal } from '../http.ts';
import type { ModelServer } from '../model-server.ts';
import { LearnedSettings } from './learned-settings.ts';
import { refusalText, refusedFields } from './refused-fields.ts';

/** A longer request, in characters, is not kept until it is accepted, and so not sent once more. */
const MAX_SECOND_TRY = 2 ** 20;

/** The refused fields of one server. */
export class WithoutFields {
  private readonly learned = new LearnedSettings<{ readonly refusedFields?: readonly string[] }>();
  private readonly optional: readonly string[];

  /** `optional` are the fields that may be left out; one within another has a path, such as `reasoning.effort`, and so has a value of a list. */
  constructor(optional: readonly string[]) {
    this.optional = optional;
  }

  /** The body without what the server is known to refuse for this model. */
  known(model: string, body: JsonObject): JsonObject {
    const fields = this.learned.get(model)?.refusedFields;
    return fields ? withoutPaths(body, fields) : body;
  }

  /** What is sent instead of a body of that text, if it is refused; undefined if the text is too long to be kept. */
  second(
    { model, body, text, write = JSON.stringify }: SentBody,
    server: ModelServer,
    call: UpstreamCall,
  ): ((refusal: Refusal) => SecondRequest | undefined) | undefined {
    if (text.length > MAX_SECOND_TRY) return undefined;
    return ({ answered, said }) => {
      if (answered !== 400 && answered !== 422) return undefined;
      const sent = this.optional.filter((path) => isSent(body, path));
      const refused = refusedFields(refusalText(said), sent);
      if (!refused) return undefined;
      const names = refused.fields.map((field) => `'${field}'`).join(', ');
      const message = `The model server refused the request; it is asked again without ${names}.`;
      server.noteOnce(call, { code: 'setting_dropped', message });
      return {
        body: write(withoutPaths(body, refused.fields)),
        settled: (met) => {
          if (refused.isLasting && met) this.learned.learn(model, { refusedFields: refused.fields });
        },
      };
    };
  }
}

/** A request that has been sent. */
interface SentBody {
  readonly model: string;
  readonly body: JsonObject;
  readonly text: string;
  /** How the body becomes the text. */
  readonly write?: (body: JsonObject) => string;
}

/** Whether the body has the field, or its list the value. */
function isSent(body: JsonObject, path: string): boolean {
  const [name = '', inner] = splitPath(path);
  const value = body[name];
  return Array.isArray(value) && inner !== undefined
    ? value.includes(inner)
    : valueAt(body, [name, inner]) !== undefined;
}

function withoutPaths(body: JsonObject, paths: readonly string[]): JsonObject {
  const rest = { ...body };
  for (const path of paths) {
    const [name = '', inner] = splitPath(path);
    const value = rest[name];
    if (inner !== undefined && Array.isArray(value)) {
      const others = value.filter((each) => each !== inner);
      rest[name] = others.length > 0 ? others : undefined;
    } else rest[name] = inner !== undefined && isRecord(value) ? { ...value, [inner]: undefined } : undefined;
  }
  return rest;
}

/** A field, and what follows its first dot: values of lists have dots of their own. */
function splitPath(path: string): readonly string[] {
  const dot = path.indexOf('.');
  return dot < 0 ? [path] : [path.slice(0, dot), path.slice(dot + 1)];
}
