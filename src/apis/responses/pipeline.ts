/** Prepares a request for the model: a list of steps over one growing value, none of which calls the next. */
import { withGuardedErrors } from '../../engine/guarding/answers/guarded-error.ts';
import { type GuardingSettings, guardsOf } from '../../engine/guarding/request/guards-of.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { andThen, isPromise } from '../../protocol/record.ts';
import type { PrepareSettings, ServerOfModels } from '../endpoint/prepare.ts';
import { type ApplyApprovalsSettings, applyApprovals } from './steps/apply-approvals.ts';
import { guardInput } from './steps/guard-input.ts';
import { readUploads } from './steps/read-uploads.ts';
import type { PreparedRequest, RequestInWindow } from './steps/request.ts';
import { resolveHistory } from './steps/resolve-history.ts';
import { type PromptSettings, resolvePrompt } from './steps/resolve-prompt.ts';
import { resolveTools } from './steps/resolve-tools.ts';
import { refuseUnreadable, selectWindow, type WindowSettings } from './steps/select-window.ts';
import { type ModelRequestSettings, toModelRequest } from './steps/to-model-request.ts';
import { validate } from './steps/validate.ts';

/** The host's options that the steps need. */
interface PipelineSettings
  extends PrepareSettings,
    WindowSettings,
    ApplyApprovalsSettings,
    ModelRequestSettings,
    GuardingSettings,
    PromptSettings {}

/** The request, ready for a model. Throws `ApiError` for an invalid request. */
export function prepareRequest(request: EndpointRequest, settings: PipelineSettings): MaybePromise<PreparedRequest> {
  const conversation = prepareConversation(request, settings);
  const withTools = andThen(conversation, (given) => {
    const tools = resolveTools(given, settings);
    return isPromise(tools) ? withGuardedErrors(tools, given.guards) : tools;
  });
  const withUploads = andThen(withTools, (given) => readUploads(given, settings));
  const withApprovals = andThen(withUploads, (given) => applyApprovals(given, settings));
  return andThen(withApprovals, (given) => toModelRequest(given, settings));
}

/** The first half, for endpoints that use a conversation without continuing it. Throws `ApiError`. */
export function prepareConversation(
  request: EndpointRequest,
  settings: PrepareSettings & WindowSettings & GuardingSettings & PromptSettings & ServerOfModels,
): MaybePromise<RequestInWindow> {
  const whole = resolvePrompt(request, settings);
  const allowed = andThen(whole, (given) => {
    const checked = validate(given, settings);
    refuseUnreadable(checked, settings);
    const guards = guardsOf(checked.apiRequest, settings);
    return guards ? guardInput(checked, guards, settings) : checked;
  });
  const withHistory = andThen(allowed, (given) => resolveHistory(given, settings));
  return andThen(withHistory, (given) => selectWindow(given, settings));
}
