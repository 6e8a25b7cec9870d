import { useState } from "react";
import { authority, type PolicyView } from "../api/authority";
import { usePolled } from "../servers/usePolled";
import { Failure, Place, Warning } from "../settings/Warning";
import { Audit } from "./Audit";
import { Grants } from "./Grants";
import { Rules } from "./Rules";

/** Often enough for a file that is edited by hand. */
const EVERY_MS = 5_000;

function Problem({ problem }: { problem: NonNullable<PolicyView["problem"]> }) {
  return (
    <Warning title="The file of your rules cannot be read">
      <Place {...problem} />
      <p>{problem.message} Until it is mended nothing is allowed by rule; what was denied stays denied.</p>
    </Warning>
  );
}

/** Who may do what: rules, permissions for a while, and the record of what was decided. */
export default function PermissionsTab() {
  const { data, problem } = usePolled(authority.policy, EVERY_MS);
  const [kept, setKept] = useState<{ over: PolicyView | null; policy: PolicyView } | null>(null);
  // What was just saved shows at once; the next answer of the server has the last word.
  const policy = kept && kept.over === data ? kept.policy : data;
  return (
    <>
      <Failure message={problem} />
      {policy?.problem && <Problem problem={policy.problem} />}
      {policy && <Rules policy={policy} onChange={(next) => setKept({ over: data, policy: next })} />}
      <Grants />
      <Audit />
    </>
  );
}
