/** Whether the model server can serve the API of Chat Completions. */
import type { ChatSettings } from '../apis/chat-completions/chat-request.ts';
import type { CoreSettings } from './options/core-settings.ts';

/** The settings, if the upstream can serve Chat Completions. Throws a `TypeError` that names it otherwise. */
export function requireChatSettings(owner: string, settings: CoreSettings): CoreSettings & ChatSettings {
  if (speaksChat(settings)) return settings;
  throw new TypeError(`${owner}: upstream must speak Chat Completions, got '${settings.upstream.name}'`);
}

/** Whether the upstream can. */
export function speaksChat(settings: CoreSettings): settings is CoreSettings & ChatSettings {
  return settings.upstream.chat !== undefined;
}
