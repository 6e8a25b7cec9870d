import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { FoundServers, Recognised } from "../api/types";
import { choicesOf, isWords, wordsOf, type Choice, type Understood } from "./asked";

/** Nobody means what they have typed for less long than this. */
const TYPING_MS = 220;
/** Settings files are small; anything larger is another file. */
const MAX_TEXT_BYTES = 2_000_000;

type Answer<T> = { of: string; value: T | null; problem: string };

/** Ask for what a key stands for; while another one is asked for, the answer before stays, and `of` says whose it is. */
function useAnswer<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Answer<T> | null {
  const [answer, setAnswer] = useState<Answer<T> | null>(null);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (!key) return setAnswer(null);
    const leaving = new AbortController();
    const keep = (value: T | null, problem: string) => {
      if (!leaving.signal.aborted) setAnswer({ of: key, value, problem });
    };
    latest.current(leaving.signal).then(
      (value) => keep(value, ""),
      (error: unknown) => keep(null, errorText(error)),
    );
    // Who types on asks for something else; the server need not finish this one.
    return () => leaving.abort();
  }, [key]);
  return answer;
}

/** Read what was dropped or chosen: a bundle by the server, anything else as text. */
async function readFile(file: File, signal: AbortSignal): Promise<Recognised> {
  if (/\.(mcpb|dxt)$/i.test(file.name)) return finding.recogniseBundle(file, signal);
  if (file.size > MAX_TEXT_BYTES) throw new Error(`${file.name} is too large to be a settings file. A bundle ends with .mcpb.`);
  return finding.recognise(await file.text(), signal);
}

/** The box: what stands in it, and what that is. */
export interface Asked {
  text: string;
  registry: string;
  understood: Understood | null;
  found: FoundServers | null;
  choices: Choice[];
  /** Whether something is still asked for. */
  isBusy: boolean;
  /** What is shown belongs to what stood there before. */
  isOld: boolean;
  problem: string;
  type: (text: string) => void;
  choose: (registry: string) => void;
  /** Search again: a key was given. */
  again: () => void;
}

/** Follow what is typed, pasted or dropped. */
export function useAsked(file: File | null, onForget: () => void): Asked {
  const [text, setText] = useState("");
  const [registry, setRegistry] = useState("all");
  const [turn, setTurn] = useState(0);
  const [settled] = useDebouncedValue(text.trim(), TYPING_MS);
  const key = file ? `file ${file.name} ${file.size} ${file.lastModified}` : settled && `text ${settled}`;
  const meant = useAnswer(key, (signal) => (file ? readFile(file, signal) : finding.recognise(settled, signal)));
  const isCurrent = meant?.of === key;
  const understood = isCurrent && meant.value ? { recognised: meant.value, file: file?.name ?? "" } : null;
  const words = file ? "" : wordsOf(settled, understood);
  // While it is not known yet what a text is, what was found before stays.
  const wanted = words ? `${turn} ${registry} ${words}` : isCurrent || !settled ? "" : null;
  const kept = useRef("");
  if (wanted !== null) kept.current = wanted;
  const search = useAnswer(kept.current, (signal) => finding.search(words, registry, signal));
  const isSearched = wanted !== null && (wanted === "" || search?.of === wanted);
  const isTyping = !file && settled !== text.trim();
  return {
    text,
    registry,
    understood,
    found: search?.value ?? null,
    choices: choicesOf(settled, understood, search?.value ?? null),
    isBusy: key !== "" && !(isCurrent && isSearched),
    isOld: isTyping || !isSearched,
    // That no package has the name of a word is nothing that went wrong.
    problem: (isCurrent && !isWords(settled) && meant.problem) || (isSearched && search?.problem) || "",
    type: (next) => {
      setText(next);
      if (file) onForget();
    },
    choose: setRegistry,
    again: () => setTurn(turn + 1),
  };
}
