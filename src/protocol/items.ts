/** Items: the elements of a conversation, in the shape of the Responses API, so that history replays without loss. */

/** Any stored item, known or not; unknown fields and types are kept. */
export interface Item {
  /** The kind of item, such as `message`. */
  readonly type: string;
  /** The item's id; null or absent if it has none. */
  readonly id?: string | null;
  readonly [field: string]: unknown;
}

/** The status of an output item. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** One alternative for a token. */
export interface TopLogProb {
  /** The token's text. */
  readonly token: string;
  /** The natural logarithm of its probability. */
  readonly logprob: number;
  /** The token in UTF-8. */
  readonly bytes: readonly number[];
}

/** The log probability of one output token. */
export interface LogProb extends TopLogProb {
  /** The most likely tokens at this position. */
  readonly top_logprobs: readonly TopLogProb[];
}

/** A source for the text between two character offsets. */
export interface UrlCitation {
  readonly type: 'url_citation';
  /** The address of the source. */
  readonly url: string;
  /** The title of the source. */
  readonly title: string;
  /** The first character of the text, from 0. */
  readonly start_index: number;
  /** The end of the text: the index after its last character. */
  readonly end_index: number;
}

/** A file that the text refers to; `index` is the position in the text. */
export interface FileCitation {
  readonly type: 'file_citation';
  /** The id of the file. */
  readonly file_id: string;
  /** The name of the file. */
  readonly filename: string;
  /** The character of the text, from 0. */
  readonly index: number;
}

/** A file in a code container that the text between two character offsets refers to. */
export interface ContainerFileCitation {
  readonly type: 'container_file_citation';
  /** The id of the container. */
  readonly container_id: string;
  /** The id of the file. */
  readonly file_id: string;
  /** The name of the file. */
  readonly filename: string;
  /** The first character of the text, from 0. */
  readonly start_index: number;
  /** The end of the text: the index after its last character. */
  readonly end_index: number;
}

/** A citation of a text. */
export type Annotation = UrlCitation | FileCitation | ContainerFileCitation;

/** A part of a message or of a reasoning item. */
export type Part =
  | {
      readonly type: 'output_text';
      readonly text: string;
      readonly annotations: readonly Annotation[];
      readonly logprobs: readonly LogProb[];
    }
  | { readonly type: 'refusal'; readonly refusal: string }
  | { readonly type: 'summary_text'; readonly text: string }
  | { readonly type: 'reasoning_text'; readonly text: string };

export type PartType = Part['type'];

/** The assistant's message. */
type MessageItem = {
  readonly id: string;
  readonly type: 'message';
  readonly status: ItemStatus;
  readonly role: 'assistant';
  readonly content: readonly Part[];
  /** The message's purpose, such as `commentary` or `final_answer`; some models need it back. */
  readonly phase?: string;
};

/** The model's reasoning: in `summary`, or raw in `content`, as the host configured. */
export type ReasoningItem = {
  readonly id: string;
  readonly type: 'reasoning';
  readonly status: ItemStatus;
  readonly summary: readonly Part[];
  readonly content?: readonly Part[];
  /** The opaque state that the model server that wrote it needs back. */
  readonly encrypted_content?: string;
};

/** A call of a tool that the client runs. */
type FunctionCallItem = {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly arguments: string;
};

/** A call of a client's tool that takes free text. */
type CustomToolCallItem = {
  readonly id: string;
  readonly type: 'custom_tool_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly input: string;
};

/** The result of a server-run function call, where calls are shown that way. */
type FunctionCallOutputItem = {
  readonly id: string;
  readonly type: 'function_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: ToolOutput;
};

/** Text, or `input_text`, `input_image` and `input_file` parts. */
export type ToolOutput = string | readonly Readonly<Record<string, unknown>>[];

/**
 * Why a call failed, in OpenAI's shape: it produced no result (`code` is a JSON-RPC code), the server answered with an
 * HTTP status (`code`), or the tool itself failed, with the blocks of its result.
 */
export type McpToolCallError =
  | { readonly type: 'mcp_protocol_error' | 'http_error'; readonly code: number; readonly message: string }
  | { readonly type: 'mcp_tool_execution_error'; readonly content: unknown };

/** A call of a tool that the server runs, with its result. */
export type McpCallItem = {
  readonly id: string;
  readonly type: 'mcp_call';
  readonly status: ItemStatus | 'failed';
  /** The id of the request by which the user approved it; null if none was needed. */
  readonly approval_request_id: string | null;
  readonly arguments: string;
  readonly error: McpToolCallError | null;
  readonly name: string;
  readonly output: string | null;
  readonly server_label: string;
};

/** The output of a code run: logs, or an image, as a data URL. */
export type CodeOutput =
  | {
      readonly type: 'logs';
      /** What the code printed. */
      readonly logs: string;
    }
  | {
      readonly type: 'image';
      /** The image as a data URL. */
      readonly url: string;
    };

/** A run of code that the model wrote. */
export type CodeInterpreterCallItem = {
  readonly id: string;
  readonly type: 'code_interpreter_call';
  readonly status: ItemStatus | 'interpreting' | 'failed';
  readonly container_id: string;
  readonly code: string;
  /** Null before the run has ended, and for clients that do not request it. */
  readonly outputs: readonly CodeOutput[] | null;
  /** The files that the run wrote and that clients may fetch; no client is shown them here. */
  readonly files?: readonly WrittenFile[];
};

/** A file that code wrote into its container. */
export interface WrittenFile {
  /** Its id in the API of containers, such as `cfile_…`. */
  readonly file_id: string;
  /** Its path below the working directory, such as `plots/one.png`. */
  readonly name: string;
}

/** A program that the model wrote, and that calls tools. */
type ProgramItem = {
  readonly id: string;
  readonly type: 'program';
  readonly call_id: string;
  /** JavaScript; empty until the call is complete. */
  readonly code: string;
  /** Opaque; whoever sends the program back must send it, too. Empty until the call is complete. */
  readonly fingerprint: string;
};

/** What a program gave. */
type ProgramOutputItem = {
  readonly id: string;
  readonly type: 'program_output';
  /** That of the program. */
  readonly call_id: string;
  /** What it wrote, and why it did not end well, if it did not. */
  readonly result: string;
  readonly status: 'completed' | 'incomplete';
};

/** Commands for a shell: the client's, or that of a container. */
type ShellCallItem = {
  readonly id: string;
  readonly type: 'shell_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly action: {
    /** Empty until the call is complete. */
    readonly commands: readonly string[];
    /** How long they may take, in milliseconds. */
    readonly timeout_ms: number | null;
    /** How many characters of output to send back. */
    readonly max_output_length: number | null;
  };
  readonly environment:
    | { readonly type: 'local' }
    | { readonly type: 'container_reference'; readonly container_id: string };
};

/** What one command of a shell printed, and how it ended. */
export type ShellOutput = {
  /** What it printed. */
  readonly stdout: string;
  /** What it printed as errors. */
  readonly stderr: string;
  /** `timeout` if its time was over before it ended. */
  readonly outcome:
    | {
        readonly type: 'exit';
        /** 0 for success. */
        readonly exit_code: number;
      }
    | { readonly type: 'timeout' };
};

/** The results of the commands that ran in a container. */
type ShellCallOutputItem = {
  readonly id: string;
  readonly type: 'shell_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  /** How many characters the model wanted of each command. */
  readonly max_output_length: number | null;
  /** One for each command that ran; empty until then. */
  readonly output: readonly ShellOutput[];
};

/** A program that the client runs. */
type LocalShellCallItem = {
  readonly id: string;
  readonly type: 'local_shell_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly action: {
    readonly type: 'exec';
    /** The program and its arguments; empty until the call is complete. */
    readonly command: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    /** In milliseconds. */
    readonly timeout_ms?: number;
    readonly user?: string;
    readonly working_directory?: string;
  };
};

/** A change of one file. */
export type FileOperation =
  | { readonly type: 'create_file' | 'update_file'; readonly path: string; readonly diff: string }
  | { readonly type: 'delete_file'; readonly path: string };

/** A change of a file that the client makes. */
type ApplyPatchCallItem = {
  readonly id: string;
  readonly type: 'apply_patch_call';
  readonly status: 'in_progress' | 'completed';
  readonly call_id: string;
  readonly operation: FileOperation;
};

/** A search for tools that the model was not offered yet. */
type ToolSearchCallItem = {
  readonly id: string;
  readonly type: 'tool_search_call';
  readonly status: ItemStatus;
  /** Null if this server runs the search: then nobody has to answer it. */
  readonly call_id: string | null;
  readonly execution: 'server' | 'client';
  /** What the model searched with; empty until it is complete. */
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** What a search found: a namespace of functions for each server. */
type ToolSearchOutputItem = {
  readonly id: string;
  readonly type: 'tool_search_output';
  readonly status: ItemStatus;
  readonly call_id: null;
  readonly execution: 'server';
  readonly tools: readonly Readonly<Record<string, unknown>>[];
};

/** A call of a server-run tool that waits for the user's approval. */
export type McpApprovalRequestItem = {
  readonly id: string;
  readonly type: 'mcp_approval_request';
  readonly arguments: string;
  readonly name: string;
  readonly server_label: string;
  /** The program that made the call; absent for the model itself. */
  readonly caller?: { readonly type: 'program'; readonly caller_id: string };
};

/** One tool as clients receive it; absent fields are omitted, since some clients refuse null. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** A tool that a search found. */
export interface FoundTool {
  /** The model's name for it. */
  readonly modelName: string;
  readonly server: string;
  /** What the client says of its namespace. */
  readonly serverDescription?: string;
  readonly tool: ListedTool;
  /** Its own definition, if the client brought it. */
  readonly own?: Readonly<Record<string, unknown>>;
}

/** The tools of one server that were offered to the model. */
type McpListToolsItem = {
  readonly id: string;
  readonly type: 'mcp_list_tools';
  readonly status: 'in_progress' | 'completed';
  readonly server_label: string;
  readonly tools: readonly ListedTool[];
};

/** The item that replaces everything before it; only this server can read it. */
export type CompactionItem = {
  readonly id: string;
  readonly type: 'compaction';
  readonly encrypted_content: string;
};

/** An action on the web: a search, reading a page, or searching in a page. */
export type WebAction =
  | {
      readonly type: 'search';
      /** The first query. */
      readonly query: string;
      /** Every query. */
      readonly queries: readonly string[];
      /** The pages that were found. */
      readonly sources?: readonly UrlSource[];
    }
  | {
      readonly type: 'open_page';
      /** The address of the page. */
      readonly url: string;
    }
  | {
      readonly type: 'find_in_page';
      /** The address of the page. */
      readonly url: string;
      /** The text that was searched for. */
      readonly pattern: string;
    };

/** What the model has received from a search by this server: a page, or a text without one, such as the reason of a failure. */
export interface WebResult {
  /** The address of the page; absent for a text without one. */
  readonly url?: string;
  /** The title of the page. */
  readonly title?: string;
  /** A part of its text. */
  readonly text: string;
}

/** A page that a search found. */
export interface UrlSource {
  readonly type: 'url';
  /** The address of the page. */
  readonly url: string;
}

/** A web search, by this server or by the model's own. */
export type WebSearchCallItem = {
  readonly id: string;
  readonly type: 'web_search_call';
  readonly status: 'in_progress' | 'completed' | 'failed';
  readonly action: WebAction;
  /** What the model received; set only if this server searched. Null until then. */
  readonly results?: readonly WebResult[] | null;
  /** The opaque state that the model server that searched needs back. */
  readonly encrypted_content?: string;
};

/** A passage that a search in files has found, or a text without a file, such as the reason of a failure. */
export interface FilePassage {
  /** The id of the file; absent for a text without one. */
  readonly file_id?: string;
  /** The name of the file. */
  readonly filename?: string;
  /** From 0 to 1. */
  readonly score?: number;
  /** What the client has noted of the file. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** The passage. */
  readonly text: string;
}

/** A search in the client's files. */
export type FileSearchCallItem = {
  readonly id: string;
  readonly type: 'file_search_call';
  readonly status: ItemStatus | 'searching' | 'failed';
  /** Empty until the call is complete. */
  readonly queries: readonly string[];
  /** The results that the model received. Null until then, and for clients that do not request it. */
  readonly results: readonly FilePassage[] | null;
};

/** A call that another call makes, under the model's name for the tool. */
export interface InnerCall {
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/** What an agent may do with other agents. */
export type MultiAgentAction =
  | 'spawn_agent'
  | 'interrupt_agent'
  | 'list_agents'
  | 'send_message'
  | 'followup_task'
  | 'wait_agent';

/** An action of an agent. */
type MultiAgentCallItem = {
  readonly id: string;
  readonly type: 'multi_agent_call';
  readonly action: MultiAgentAction;
  readonly arguments: string;
  readonly call_id: string;
};

/** The result of such an action. */
type MultiAgentCallOutputItem = {
  readonly id: string;
  readonly type: 'multi_agent_call_output';
  readonly action: MultiAgentAction;
  readonly call_id: string;
  /** Empty until the action has ended. */
  readonly output: readonly Part[];
};

/** What one agent says to another; it belongs to the agent that receives it. */
type AgentMessageItem = {
  readonly id: string;
  readonly type: 'agent_message';
  readonly author: string;
  readonly recipient: string;
  readonly content: readonly { readonly type: 'input_text'; readonly text: string }[];
};

/** The result of a server-run call; if the call failed, `output` gives the reason to the model. */
export interface ToolCallResult {
  readonly output: ToolOutput;
  readonly failed: boolean;
  /** The shown outputs of a code run; the default is `output`. */
  readonly outputs?: readonly CodeOutput[];
  /** The shown outputs of the commands of a shell; the default is `output`, as what one command printed. */
  readonly commandOutputs?: readonly ShellOutput[];
  /** The shown results of a web search; the default is `output`. */
  readonly results?: readonly WebResult[];
  /** The shown results of a search in files; the default is `output`. */
  readonly passages?: readonly FilePassage[];
  /** The files that code wrote into its container; an answer's links to them become citations. */
  readonly written?: readonly WrittenFile[];
  /** The tools that the model is offered from now on. */
  readonly found?: readonly FoundTool[];
  /** The calls that it waits for: it goes on, and has its result, once they have theirs. */
  readonly calls?: readonly InnerCall[];
  /** The image that the call made. */
  readonly image?: GeneratedImage;
  /** The shown error of a failed call; without one the tool itself has failed, with `output`. */
  readonly error?: McpToolCallError;
}

/**
 * How a call is shown: as one that the client runs, with arguments or free text, or as one that the server runs, with
 * arguments or code.
 */
export type ToolCallType =
  | 'function_call'
  | 'custom_tool_call'
  | 'mcp_call'
  | 'code_interpreter_call'
  | 'program'
  | 'tool_search_call'
  | 'image_generation_call'
  | 'shell_call'
  | 'local_shell_call'
  | 'apply_patch_call'
  | 'web_search_call'
  | 'file_search_call'
  | 'multi_agent_call';

/** An image that the model made, or a tool that it called. */
export type ImageGenerationCallItem = {
  readonly id: string;
  readonly type: 'image_generation_call';
  readonly status: 'in_progress' | 'generating' | 'completed' | 'failed';
  /** In base64; null until the image is available. */
  readonly result: string | null;
} & ImageDetails;

/** Further properties of an image, in OpenAI's terms; `output_format` is the end of its media type, such as `png`. */
export type ImageDetails = {
  /** The end of the media type, such as `png`. */
  readonly output_format?: string;
  /** `transparent`, `opaque` or `auto`. */
  readonly background?: string;
  /** Such as `high`. */
  readonly quality?: string;
  /** In pixels, such as `1024x1024`. */
  readonly size?: string;
  /** The prompt that the image was made from, if the model rewrote it. */
  readonly revised_prompt?: string;
};

/** An image, and what is known of it. */
export interface GeneratedImage {
  /** In base64. */
  readonly result: string;
  /** Its format, size and so on. */
  readonly details: ImageDetails;
}

/** An unfinished version of the image that a call makes; `number` counts those of the call from 0. */
export interface PartialImage extends GeneratedImage {
  readonly number: number;
}

/** The items that a turn itself writes. */
export type OutputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomToolCallItem
  | FunctionCallOutputItem
  | McpCallItem
  | CodeInterpreterCallItem
  | ProgramItem
  | ProgramOutputItem
  | ToolSearchCallItem
  | ShellCallItem
  | ShellCallOutputItem
  | LocalShellCallItem
  | ApplyPatchCallItem
  | ToolSearchOutputItem
  | McpApprovalRequestItem
  | McpListToolsItem
  | WebSearchCallItem
  | FileSearchCallItem
  | ImageGenerationCallItem
  | MultiAgentCallItem
  | MultiAgentCallOutputItem
  | AgentMessageItem
  | CompactionItem;
