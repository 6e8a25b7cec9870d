import { useState } from "react";
import type { TerminalView } from "../api/types";
import type { ScreenProps } from "./Screen";
import type { LineState } from "./socket";

export interface Session {
  state: LineState;
  terminal: TerminalView | null;
  /** One sentence about what happened to the session. */
  news: string;
  selected: string;
  /** Counts the screens: a new session begins with an empty one. */
  generation: number;
  /** Show a screen for a new session, with a word about it. */
  begin: (words: string) => void;
  handlers: Omit<ScreenProps, "conversationId">;
}

/** Return how a session ended, in words. */
export const endedWords = (exitCode: number | null) =>
  exitCode === null ? "The session has ended." : `The session has ended with exit code ${exitCode}.`;

/** Follow the session that a screen shows. */
export function useSession(onChange: () => void): Session {
  const [state, setState] = useState<LineState>("connecting");
  const [terminal, setTerminal] = useState<TerminalView | null>(null);
  const [news, setNews] = useState("");
  const [selected, setSelected] = useState("");
  const [generation, setGeneration] = useState(0);
  const opened = (view: TerminalView, { isOther }: { isOther: boolean }) => {
    setTerminal(view);
    if (isOther) setNews("The session before has ended; this is a new one.");
    onChange();
  };
  const ended = (exitCode: number | null) => {
    setNews(endedWords(exitCode));
    onChange();
  };
  const begin = (words: string) => {
    setNews(words);
    setState("connecting");
    setGeneration((now) => now + 1);
  };
  const handlers = { onOpened: opened, onState: setState, onEnded: ended, onProblem: setNews, onSelected: setSelected };
  return { state, terminal, news, selected, generation, begin, handlers };
}
