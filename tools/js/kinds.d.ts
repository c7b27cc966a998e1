// The module that `airpath/studio/document.py` makes of the schema of events.

/** A column: words with their meanings are none of a column of numbers; a flag is 1 or 0. */
export type Column = { unit: string; is_flag: boolean; words: Record<string, string> };

/** Kinds of event, by name. */
export const SCHEMA: Record<string, { meaning: string; columns: Record<string, Column> }>;
