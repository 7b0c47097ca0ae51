/** Prepares a request for the model: a list of steps over one growing value, none of which calls the next. */
import { withGuardedErrors } from '../../engine/guarding/answers/guarded-error.ts';
import { collectGuards, type GuardingSettings } from '../../engine/guarding/request/guards-of.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isPresent, isRecord } from '../../protocol/record.ts';
import type { PrepareSettings, ServerOfModels } from '../endpoint/prepare.ts';
import { type ApplyApprovalsSettings, applyApprovals } from './steps/apply-approvals.ts';
import { guardInput } from './steps/guard-input.ts';
import { readUploads } from './steps/read-uploads.ts';
import type { PreparedRequest, RequestInWindow } from './steps/request.ts';
import { resolveHistory } from './steps/resolve-history.ts';
import { type PromptSettings, resolvePrompt } from './steps/resolve-prompt.ts';
import { resolveTools } from './steps/resolve-tools.ts';
import { resumePrograms } from './steps/resume-programs.ts';
import { refuseUnreadable, selectWindow, type WindowSettings } from './steps/select-window.ts';
import { type ModelRequestSettings, refuseEmpty, toModelRequest } from './steps/to-model-request.ts';
import { validate } from './steps/validate.ts';
import { withoutTenant } from './steps/without-tenant.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';
import { noteUnknownFields } from './unknown-fields.ts';

/** The host's options that the steps of a conversation need. */
type ConversationSettings = PrepareSettings & WindowSettings & GuardingSettings & PromptSettings & ServerOfModels;

/** The host's options that all steps need. */
interface PipelineSettings
  extends PrepareSettings,
    Pick<ResponsesApiSettings, 'multiAgent'>,
    WindowSettings,
    ApplyApprovalsSettings,
    ModelRequestSettings,
    GuardingSettings,
    PromptSettings {}

/** A request that is to be answered, ready for a model. Throws `ApiError` for an invalid request. */
export async function prepareAnswerable(
  request: EndpointRequest,
  settings: PipelineSettings,
  note: (note: Note) => void,
): Promise<PreparedRequest> {
  noteUnknownFields(request, settings, note);
  const prepared = await prepareRequest(request, settings);
  refuseEmpty(prepared);
  return withoutTenant(prepared, request.body);
}

/**
 * The request, ready for a model. Throws `ApiError` for an invalid request. A step that few requests need is not called for the
 * others: each call of an async function costs a short request as much as the step's own work.
 */
export async function prepareRequest(request: EndpointRequest, settings: PipelineSettings): Promise<PreparedRequest> {
  const conversation = await prepareConversation(request, settings);
  const withTools = await withGuardedErrors(() => resolveTools(conversation, settings), conversation.guards);
  const { files, documents, fileFetcher } = settings;
  const withUploads = files || documents || fileFetcher ? await readUploads(withTools, settings) : withTools;
  return toModelRequest(resumePrograms(await applyApprovals(withUploads, settings), settings), settings);
}

/** The first half, for endpoints that use a conversation without continuing it. Throws `ApiError`. */
export async function prepareConversation(
  request: EndpointRequest,
  settings: ConversationSettings,
): Promise<RequestInWindow> {
  const { body } = request;
  const namesPrompt = isRecord(body) && isPresent(body.prompt);
  const checked = validate(namesPrompt ? await resolvePrompt(request, body, settings) : request, settings);
  refuseUnreadable(checked, settings);
  const guards = collectGuards(checked.apiRequest, settings);
  const allowed = guards ? await guardInput(checked, guards, settings) : checked;
  const withHistory = await resolveHistory(allowed, settings);
  return selectWindow(withHistory, settings);
}
