import { CheckIcon, CrossCircleIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import classes from "./Settings.module.css";

/** What a test of a model does. */
export const ASKING = "Asking for a few tokens…";

interface TestResultProps {
  /** What is being done; empty once it is over. */
  doing: string;
  result: { ok: boolean; message: string } | null;
}

/** What a test of a model or a server gave, in one sentence; it is read out when it comes. */
export function TestResult({ doing, result }: TestResultProps) {
  return (
    <span role="status" className={`ph-with-icon ph-outcome ${classes.test}`} data-ok={doing ? undefined : result?.ok}>
      {doing}
      {!doing && result && (
        <>
          {result.ok ? <CheckIcon size={16} /> : <CrossCircleIcon size={16} />}
          <span>
            <Said text={result.message} />
          </span>
        </>
      )}
    </span>
  );
}
