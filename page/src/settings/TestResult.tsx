import type { ModelTest } from "../api/types";
import { CheckIcon, CrossCircleIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import classes from "./Settings.module.css";

/** What a test of a model gave, in one sentence; it is read out when it comes. */
export function TestResult({ isTesting, result }: { isTesting: boolean; result: ModelTest | null }) {
  return (
    <span role="status" className={classes.test} data-ok={result?.ok}>
      {isTesting && "Asking for a few tokens…"}
      {!isTesting && result && (
        <>
          {result.ok ? <CheckIcon size={16} /> : <CrossCircleIcon size={16} />}
          <span><Said text={result.message} /></span>
        </>
      )}
    </span>
  );
}
