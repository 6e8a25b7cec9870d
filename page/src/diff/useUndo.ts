import { useState } from "react";
import { errorText } from "../api/client";
import type { UndoReport } from "../api/types";

/** What undoing came to, by what was undone: a line that left the view and comes back still knows it. */
const reports = new Map<string, UndoReport>();

export interface Undo {
  isBusy: boolean;
  report: UndoReport | null;
  problem: string;
  undo: () => void;
}

/** Put something back as it was, once at a time. */
export function useUndo(key: string, ask: () => Promise<UndoReport>): Undo {
  const [report, setReport] = useState(reports.get(key) ?? null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const undo = () => {
    setBusy(true);
    setProblem("");
    ask()
      .then(
        (told) => {
          reports.set(key, told);
          setReport(told);
        },
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setBusy(false));
  };
  return { isBusy, report, problem, undo };
}
