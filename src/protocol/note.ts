/** Notes: parts of a request or of a model server's answer that were left out without failing it; for the host's log. */

/** One thing that was left out. */
export interface Note {
  /** The kind of omission, for programs. */
  readonly code:
    | 'unknown_field'
    | 'tool_dropped'
    | 'item_skipped'
    | 'reference_skipped'
    | 'arguments_wrapped'
    | 'call_dropped'
    | 'call_missing'
    | 'setting_dropped'
    | 'state_rejected'
    | 'output_differs'
    | 'compaction_skipped'
    | 'history_truncated'
    | 'upstream_fields_ignored'
    | 'finish_reason_unknown'
    | 'state_unreadable'
    | 'server_replaced'
    | 'taken_over'
    | 'conversation_gone'
    | 'chat_unstored'
    | 'id_repeated';
  /** What was left out, in one English sentence. */
  readonly message: string;
}
