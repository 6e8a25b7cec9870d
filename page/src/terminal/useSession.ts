import { useRef, useState } from "react";
import type { TerminalView } from "../api/hands";
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
  begin: () => void;
  handlers: Omit<ScreenProps, "conversationId">;
}

const endedWords = (exitCode: number | null) =>
  exitCode === null ? "The session ended." : `The session ended with exit code ${exitCode}.`;

/** Follow the session that a screen shows. */
export function useSession(onChange: () => void): Session {
  const [state, setState] = useState<LineState>("connecting");
  const [terminal, setTerminal] = useState<TerminalView | null>(null);
  const [news, setNews] = useState("");
  const [selected, setSelected] = useState("");
  const [generation, setGeneration] = useState(0);
  const known = useRef("");
  const opened = (view: TerminalView) => {
    const isOther = known.current !== "" && known.current !== view.sessionId;
    known.current = view.sessionId;
    setTerminal(view);
    setNews(isOther ? "The earlier session is gone; this is a new one." : "");
    onChange();
  };
  const ended = (exitCode: number | null) => {
    known.current = "";
    setNews(endedWords(exitCode));
    onChange();
  };
  const begin = () => {
    known.current = "";
    setNews("");
    setState("connecting");
    setGeneration((now) => now + 1);
  };
  const handlers = { onOpened: opened, onState: setState, onEnded: ended, onProblem: setNews, onSelected: setSelected };
  return { state, terminal, news, selected, generation, begin, handlers };
}
