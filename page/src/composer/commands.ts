import type { PromptView } from "../api/types";

/** What can be typed into the box for the host instead of the model. */
export interface BoxCommand {
  name: string;
  /** The prompt that is put into the box in its place. */
  prompt?: PromptView;
  /** What may follow it. */
  takes: string;
  about: string;
}

const commands: readonly BoxCommand[] = [
  { name: "/compact", takes: "what to keep", about: "Sum up what was said so far. The model then reads the summary." },
];

/** Return what a text says that a summary is to keep; null for a text that asks for no summary. */
export function wishIn(text: string): string | null {
  const found = /^\/compact(?:\s|$)/.exec(text.trimStart());
  return found ? text.trimStart().slice(found[0].length).trim() : null;
}

/** Return the commands that a text is the beginning of; none once it says more than a name. */
export function begunBy(text: string): readonly BoxCommand[] {
  return text.startsWith("/") ? commands.filter(({ name }) => name.startsWith(text)) : [];
}

/** How many prompts are offered at once; another letter says which. */
const OFFERED = 8;

/** Return the prompts that a text is the beginning of, as commands. */
export function promptsBegunBy(text: string, prompts: readonly PromptView[]): BoxCommand[] {
  if (!text.startsWith("/")) return [];
  const typed = text.slice(1).toLowerCase();
  const found = prompts.filter(({ name }) => name.toLowerCase().startsWith(typed));
  return found.slice(0, OFFERED).map((prompt) => ({ name: `/${prompt.name}`, takes: "", about: prompt.description || prompt.title, prompt }));
}
