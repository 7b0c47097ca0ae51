/** Streams the answer to a request of a turn, once more in another form where the server refuses the first. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import type { ReasoningField } from '../../protocol/chat-completions/reasoning-fields.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { mapStream, type PullStream } from '../../streams/pull-stream.ts';
import type { SecondRequest } from '../http/exchange.ts';
import type { Refusal } from '../http/http.ts';
import type { ModelTable } from '../http/model-table.ts';
import { LearnedSettings } from '../http/refusals/learned-settings.ts';
import { STATE_REJECTED, withoutThoughts } from '../http/refusals/without-thoughts.ts';
import { toChatBody } from './chat-body.ts';
import type { ChatCompletionsOptions, ChatSettings } from './chat-options.ts';
import type { ChatServer } from './chat-server.ts';
import { AnswerDecoding } from './decode-answer.ts';
import { readLesson, withLesson } from './lessons.ts';
import { shortenedNames, withModelFacts } from './provider-rules.ts';
import type { RequestSettings } from './providers.ts';
import type { SeenFields } from './seen-fields.ts';

/** The names of tools as they were sent last. */
interface SentNames {
  names: ReadonlyMap<string, string> | undefined;
}

const NO_OUTPUT_SCHEMA: Note = {
  code: 'setting_dropped',
  message: "The 'output_schema' of tools has no place in a chat request; it is left out.",
};

/** The requests of one upstream: what the server has taught lasts from one to the next. */
export class ChatStreams {
  private readonly server: ChatServer;
  private readonly settings: ChatSettings;
  private readonly options: ChatCompletionsOptions;
  private readonly models: ModelTable;
  private readonly seen: SeenFields;
  private readonly learned = new LearnedSettings<Partial<RequestSettings>>();

  constructor(
    server: ChatServer,
    settings: ChatSettings,
    options: ChatCompletionsOptions,
    parts: { readonly models: ModelTable; readonly seen: SeenFields },
  ) {
    this.server = server;
    this.settings = settings;
    this.options = options;
    this.models = parts.models;
    this.seen = parts.seen;
  }

  stream(request: ModelRequest, call: UpstreamCall): PullStream<readonly ModelEvent[]> {
    const { server, settings, seen } = this;
    const { model } = request;
    // Most models leave the settings as they are: a copy of them would be the largest object of a short request.
    const reasoningField = seen.get(model) ?? settings.reasoningField;
    const current = reasoningField === settings.reasoningField ? settings : { ...settings, reasoningField };
    const usual = withModelFacts(current, this.models.now(model), this.options);
    const lesson = this.learned.get(model);
    const known = lesson ? withLesson(usual, lesson) : usual;
    if (request.tools.some(({ outputSchema }) => outputSchema)) server.noteOnce(call, NO_OUTPUT_SCHEMA);
    const body = toChatBody(request, known, server.bodyReports(call));
    const sent: SentNames = { names: shortenedNames(request, known.maxToolName) };
    // Created elsewhere: in here, what lives as long as the answer would hold the request with its whole history.
    const { batches, ...answer } = server.open(body, call, this.secondTry(request, body, known, sent, call));
    const saw = (field: ReasoningField) => seen.remember(model, field);
    return mapStream(
      batches,
      new AnswerDecoding(settings.thinkTags(model), { ...answer, saw, names: () => sent.names }),
    );
  }

  /** The request once more without what the server has refused. */
  private secondTry(
    request: ModelRequest,
    body: JsonObject,
    known: RequestSettings,
    sent: SentNames,
    call: UpstreamCall,
  ): (refusal: Refusal) => SecondRequest | undefined {
    const { server, learned } = this;
    return ({ answered = 0, said }) => {
      const lesson = readLesson(answered, said, body, known);
      if (!lesson) return undefined;
      const taught = withLesson(known, lesson.settings);
      const reports = server.bodyReports(call);
      const asked = lesson.isWithoutThoughts ? withoutThoughts(request) : request;
      const again = JSON.stringify(toChatBody(asked, taught, reports));
      if (again === JSON.stringify(body)) return undefined;
      if (lesson.isWithoutThoughts) call.note(STATE_REJECTED);
      else reports.leftOut(`The model server refused the request; it is asked again ${lesson.change}.`);
      sent.names = shortenedNames(request, taught.maxToolName);
      return {
        body: again,
        settled(met) {
          const isLasting = lesson.isLasting === true ? met !== undefined : lesson.isLasting === met;
          if (isLasting) learned.learn(request.model, lesson.settings);
        },
      };
    };
  }
}
