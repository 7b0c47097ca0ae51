/** Notes: what was left out of a request without failing it, for the host's own log. */

/** One thing that was left out. */
export interface Note {
  readonly code:
    | 'unknown_field'
    | 'tool_dropped'
    | 'item_skipped'
    | 'reference_skipped'
    | 'call_dropped'
    | 'tool_choice_dropped'
    | 'setting_dropped'
    | 'state_rejected'
    | 'output_differs'
    | 'compaction_skipped'
    | 'state_unreadable';
  readonly message: string;
}
